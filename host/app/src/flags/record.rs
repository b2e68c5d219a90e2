//! Flags about recordings of drivers' calls.

use clap::Args;
use machinist_core::value::id::PluginName;
use machinist_plugin_host::RecordSettings;

use super::value::{FlagType, FlagValue, Problems};

/// Recording of driver calls.
#[derive(Debug, Args)]
#[command(next_help_heading = "Recordings")]
pub(crate) struct RecordFlags {
    /// Folder for recordings of driver calls, one file per call with the driver's inputs and actions, without the
    /// values of secrets; empty means no recording. Replay them with `machinist driver replay`
    #[arg(long, default_value = "", value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    pub(crate) record: String,
    /// Plugins to record, comma-separated; empty means all
    #[arg(long, default_value = "", value_name = "NAMES")]
    pub(crate) record_plugin: String,
    /// Total size of all recordings, such as 500Mi or 2Gi; beyond it the oldest are deleted
    #[arg(long, default_value = "1Gi", value_name = "BYTES", allow_hyphen_values = true)]
    pub(crate) record_limit: FlagValue<Bytes>,
}

impl RecordFlags {
    /// `None` when nothing is recorded.
    pub(super) fn settings(&self, problems: &mut Problems) -> Option<RecordSettings> {
        let limit_bytes = problems.take("--record-limit", &self.record_limit).0;
        let names = self.record_plugin.split(',').map(str::trim).filter(|name| !name.is_empty());
        let plugins = names.map(PluginName::from).collect();
        if self.record.is_empty() {
            if !self.record_plugin.is_empty() {
                problems.add("--record-plugin: needs --record, which names the folder");
            }
            return None;
        }
        Some(RecordSettings { folder: self.record.clone().into(), plugins, limit_bytes })
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(super) u64);

impl FlagType for Bytes {
    fn parse(text: &str) -> Result<Self, String> {
        const LEAST: u64 = 1 << 20;
        let units = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40)];
        let unit = units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
        let (digits, shift) = unit.unwrap_or((text, 0));
        let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
        match bytes {
            Some(bytes) if bytes >= LEAST => Ok(Self(bytes)),
            Some(_) => Err("must be 1Mi or more: a recording has some KiB".to_owned()),
            None => Err("must be a number of bytes such as 500Mi or 2Gi".to_owned()),
        }
    }

    fn placeholder() -> Self {
        Self(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_a_least() {
        for (text, bytes) in [("1Mi", 1 << 20), ("2Gi", 2 << 30), ("1048577", 1_048_577), ("2048Ki", 2 << 20)]
        {
            assert_eq!(Bytes::parse(text), Ok(Bytes(bytes)));
        }
        for text in ["", "0", "1", "1023Ki", "-1Mi", "1.5Gi", "1G", "Gi", "99999999999Ti"] {
            assert!(Bytes::parse(text).is_err(), "{text}");
        }
    }

    fn settings(folder: &str, plugins: &str) -> (Option<RecordSettings>, Problems) {
        let mut problems = Problems::default();
        let record_limit = "2Mi".parse().unwrap_or_else(|never| match never {});
        let flags =
            RecordFlags { record: folder.to_owned(), record_plugin: plugins.to_owned(), record_limit };
        (flags.settings(&mut problems), problems)
    }

    #[test]
    fn plugins_are_picked_out_of_a_folder_that_is_named() {
        let (record, problems) = settings("/tmp/r", "aws, sim,");
        assert!(problems.none_or((), "help").is_ok());
        let record = record.expect("records");
        assert_eq!((record.limit_bytes, record.plugins.len()), (2 << 20, 2));
        let (record, problems) = settings("", "aws");
        let message = problems.none_or((), "help").expect_err("is wrong").to_string();
        assert!(record.is_none() && message.contains("--record-plugin: needs --record"), "{message}");
        assert_eq!(settings("", "").0, None);
    }
}
