//! The operator's settings beside a policy.

use serde::de::DeserializeOwned;

/// Reads a JSON object.
///
/// # Errors
/// If the text is not one, or if a field is unknown or of the wrong kind.
pub fn read<T: DeserializeOwned>(settings: &str) -> Result<T, String> {
    if !settings.trim_start().starts_with('{') {
        return Err("invalid: they must be a JSON object".to_owned());
    }
    serde_json::from_str(settings).map_err(|error| error.to_string())
}

/// Returns the error for a number outside of its range.
pub fn out_of_range(field: &str, value: u64, least: u64, most: u64) -> Option<String> {
    let is_fine = (least..=most).contains(&value);
    (!is_fine).then(|| format!("{field} is {value}, and must be from {least} to {most}"))
}
