//! Flags about plugins: recordings of their calls, their memory, the compiler of their code, and their network.

use std::path::PathBuf;

use clap::Args;
use machinist_core::value::id::PluginName;
use machinist_plugin_host::{CacheKey, DeniedNetworks, HostSettings, RecordSettings};

use super::value::{FlagType, FlagValue, Problems};

/// The defaults of the plugin host, without its folder, key and compiler.
pub(super) fn defaults() -> HostSettings {
    HostSettings::new(PathBuf::new(), CacheKey::File(PathBuf::new()), PathBuf::new(), [])
}

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
        let limit_bytes = problems.take(&self.record_limit).0;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bytes(u64);

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
}

/// Memory, compiler and network of plugins.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sandbox of plugins")]
pub(crate) struct SandboxFlags {
    /// Memory in bytes that all plugins and their compiler share, such as 600Mi, at least 128Mi; empty means three
    /// quarters of the pod's memory limit, or of the machine's memory if there is no limit
    #[arg(long, default_value = "", value_name = "BYTES", allow_hyphen_values = true)]
    pub(crate) plugin_memory: FlagValue<PluginMemory>,
    /// Compile large components with the baseline compiler first, so that they serve within seconds; false makes them
    /// wait for the optimising compiler, and defects of the baseline compiler have no effect
    #[arg(long, default_value_t = defaults().baseline_compiler.into(), num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) baseline_compiler: FlagValue<bool>,
    /// Networks and addresses, comma-separated, that no plugin may reach whatever its grants, such as the public
    /// addresses of Nodes and load balancers, and the prefix of your own NAT64
    #[arg(long, default_value = "", value_name = "NETWORKS")]
    pub(crate) denied_networks: FlagValue<DeniedNetworks>,
}

impl SandboxFlags {
    pub(super) fn apply(&self, settings: &mut HostSettings, problems: &mut Problems) {
        settings.memory_budget_bytes = problems.take(&self.plugin_memory).0;
        settings.baseline_compiler = problems.take(&self.baseline_compiler);
        settings.egress.denied_networks = problems.take(&self.denied_networks);
    }
}

impl FlagType for DeniedNetworks {
    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|wrong| {
            format!("must be networks and addresses, as in 203.0.113.0/24,2001:db8::7: {wrong} is none")
        })
    }
}

/// A number of bytes; without one the host determines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PluginMemory(Option<u64>);

impl FlagType for PluginMemory {
    fn parse(text: &str) -> Result<Self, String> {
        const LEAST: u64 = 128 << 20;
        if text.is_empty() {
            return Ok(Self(None));
        }
        match Bytes::parse(text) {
            Ok(Bytes(bytes)) if bytes >= LEAST => Ok(Self(Some(bytes))),
            Ok(Bytes(_)) | Err(_) => Err("must be 128Mi or more, as in 600Mi or 2Gi, or empty".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches as _};

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
        let words = ["run", "--record", folder, "--record-plugin", plugins, "--record-limit=2Mi"];
        let matches = RecordFlags::augment_args(Command::new("run")).get_matches_from(words);
        let flags = RecordFlags::from_arg_matches(&matches).expect("they are flags");
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

    #[test]
    fn memory_is_found_or_named_and_never_too_little() {
        assert_eq!(PluginMemory::parse(""), Ok(PluginMemory(None)));
        assert_eq!(PluginMemory::parse("600Mi"), Ok(PluginMemory(Some(600 << 20))));
        for text in ["0", "127Mi", "-1Gi", "much"] {
            assert!(PluginMemory::parse(text).is_err(), "{text}");
        }
    }
}
