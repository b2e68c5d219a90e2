//! Settings that owners copy: from deployments to sets, from sets to Machines.
//!
//! Programs in Go decode durations when they decode an object, and one invalid duration hides the whole list from them.
//! So an owner copies only valid settings, in normalized form.

use jiff::SignedDuration;

use crate::value::duration;

/// Reads a time-out of an owner. An empty text is none.
///
/// # Errors
///
/// The problem of the field, for people.
pub fn time_out(field: &str, text: &str) -> Result<Option<String>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    match duration::parse(text) {
        Ok(time) if time < SignedDuration::ZERO => {
            Err(format!("{field} must not be negative, and is {}", duration::format(time)))
        }
        Ok(time) => Ok(Some(duration::format(time))),
        Err(error) => Err(format!("{field} is no duration: {error}")),
    }
}

/// Reads a number of tries of an owner.
///
/// # Errors
///
/// The problem of the field, for people.
pub fn tries(field: &str, number: i32) -> Result<i32, String> {
    if number < 0 { Err(format!("{field} must not be negative, and is {number}")) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_out_is_handed_down_in_one_writing_or_not_at_all() {
        let read = |text: &str| time_out("drainTimeout", text);
        assert_eq!(read("20m"), Ok(Some("20m0s".to_owned())));
        assert_eq!(read("1.5h"), Ok(Some("1h30m0s".to_owned())));
        assert_eq!((read(""), read("0")), (Ok(None), Ok(Some("0s".to_owned()))));
        for (text, told) in [
            ("20min", "drainTimeout is no duration"),
            ("20", "drainTimeout is no duration"),
            ("1d", "drainTimeout is no duration"),
            ("-5m", "drainTimeout must not be negative, and is -5m0s"),
        ] {
            assert!(read(text).is_err_and(|error| error.contains(told)), "{text}");
        }
        assert_eq!(
            (tries("n", 0), tries("n", -1)),
            (Ok(0), Err("n must not be negative, and is -1".to_owned()))
        );
    }
}
