//! Flags of `machinist plugin logs`.

use clap::{Args, ValueEnum};
use jiff::SignedDuration;

use super::{AccessFlags, Output, duration};
use crate::flags::{NAMESPACE, PORT};

#[derive(Debug, Args)]
pub(crate) struct LogsFlags {
    /// Name of the plugin, as `plugin list` shows it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Print new lines as they arrive, until interrupted
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print only lines younger than this, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) since: Option<SignedDuration>,
    /// Print only lines of this level and above
    #[arg(long, default_value = "trace")]
    pub(crate) level: PluginLevel,
    #[command(flatten)]
    pub(crate) access: AccessFlags,
    /// Namespace of the host's Lease: the value of the host's --namespace
    #[arg(long, short, default_value = NAMESPACE)]
    pub(crate) namespace: String,
    /// Namespace of the host's pod; default: the namespace of its Lease
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) host_namespace: Option<String>,
    /// Port of the host's pod that serves /debug
    #[arg(long, default_value_t = PORT)]
    pub(crate) port: u16,
    /// URL of the host, such as http://127.0.0.1:10259, instead of a port-forward through the API server
    #[arg(long, value_name = "URL", conflicts_with_all = ["port", "host_namespace"])]
    pub(crate) url: Option<String>,
    /// Format of the output: `table` for people, `json` for programs, one object per line
    #[arg(long, short, default_value = "table")]
    pub(crate) output: Output,
}

/// Levels of plugins' lines, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum PluginLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

impl PluginLevel {
    /// Parses the level of a line. An unknown level, of a later host, is shown.
    pub(crate) fn of(word: &str) -> Self {
        Self::from_str(word, true).unwrap_or(Self::Error)
    }
}
