//! Flags of `machinist plugin logs`.

use clap::{Args, ValueEnum};
use jiff::SignedDuration;

use super::{AccessFlags, Output, duration};

#[derive(Debug, Args)]
pub(crate) struct LogsFlags {
    /// Name of the plugin, as `plugin list` shows it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Go on with lines that come later, until interrupted
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only lines that are younger, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) since: Option<SignedDuration>,
    /// Only lines of this level and above
    #[arg(long, default_value = "trace")]
    pub(crate) level: PluginLevel,
    #[command(flatten)]
    pub(crate) access: AccessFlags,
    /// Namespace of the host's Lease: what the host has as --namespace
    #[arg(long, short, default_value = "machinist-system")]
    pub(crate) namespace: String,
    /// Namespace of the host's pod; by default that of its Lease
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) host_namespace: Option<String>,
    /// Port on which the host's pod serves /debug
    #[arg(long, default_value_t = 10_259)]
    pub(crate) port: u16,
    /// Ask the host at this address instead of through the API server, such as http://127.0.0.1:10259
    #[arg(long, value_name = "URL", conflicts_with_all = ["port", "host_namespace"])]
    pub(crate) url: Option<String>,
    /// `table` for people, `json` for programs: an object on each line
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
