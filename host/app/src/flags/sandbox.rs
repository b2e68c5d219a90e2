//! Flags about the memory of plugins and the compiler of their code.

use clap::Args;
use machinist_plugin_host::{DeniedNetworks, HostSettings};

use super::record::Bytes;
use super::value::{FlagType, FlagValue, Problems};

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
    #[arg(long, default_value = "true", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) baseline_compiler: FlagValue<bool>,
    /// Networks and addresses, comma-separated, that no plugin may reach whatever its grants, such as the public
    /// addresses of Nodes and load balancers, and the prefix of your own NAT64
    #[arg(long, default_value = "", value_name = "NETWORKS")]
    pub(crate) denied_networks: FlagValue<DeniedNetworks>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SandboxSettings {
    memory_budget_bytes: Option<u64>,
    baseline_compiler: bool,
    denied_networks: DeniedNetworks,
}

impl SandboxFlags {
    pub(super) fn settings(&self, problems: &mut Problems) -> SandboxSettings {
        SandboxSettings {
            memory_budget_bytes: problems.take("--plugin-memory", &self.plugin_memory).0,
            baseline_compiler: problems.take("--baseline-compiler", &self.baseline_compiler),
            denied_networks: problems.take("--denied-networks", &self.denied_networks),
        }
    }
}

impl SandboxSettings {
    pub(crate) fn apply(self, settings: &mut HostSettings) {
        settings.memory_budget_bytes = self.memory_budget_bytes;
        settings.baseline_compiler = self.baseline_compiler;
        settings.egress.denied_networks = self.denied_networks;
    }
}

impl FlagType for DeniedNetworks {
    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text).map_err(|wrong| {
            format!("must be networks and addresses, as in 203.0.113.0/24,2001:db8::7: {wrong} is none")
        })
    }

    fn placeholder() -> Self {
        Self::default()
    }
}

/// A number of bytes; without one the host determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    fn placeholder() -> Self {
        Self(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_or_named_and_never_too_little() {
        assert_eq!(PluginMemory::parse(""), Ok(PluginMemory(None)));
        assert_eq!(PluginMemory::parse("600Mi"), Ok(PluginMemory(Some(600 << 20))));
        for text in ["0", "127Mi", "-1Gi", "much"] {
            assert!(PluginMemory::parse(text).is_err(), "{text}");
        }
    }
}
