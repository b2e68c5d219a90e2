//! Flags about requests to the API servers.

use clap::Args;
use machinist_core::scheduling::request_rate::Rate;

use super::value::{Count, FlagType, FlagValue, Problems};

/// How fast this process may ask.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct RequestFlags {
    /// Requests a second to each API server, in the long run. `none` for no limit: then the server paces its clients, by the
    /// FlowSchema in deploy/flowcontrol. Leases, watches and Events do not count
    #[arg(long, default_value = "none", value_name = "RATE|none", allow_hyphen_values = true)]
    pub(crate) kube_api_qps: FlagValue<PerSecond>,
    /// Requests at once after a rest, where --kube-api-qps is a number; 0 means 10
    #[arg(long, default_value = "30", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) kube_api_burst: FlagValue<Count>,
}

impl RequestFlags {
    /// `None` without a limit.
    pub(super) fn rate(&self, problems: &mut Problems) -> Option<Rate> {
        /// The burst of Go's client for 0.
        const DEFAULT_BURST: u32 = 10;
        let per_second = problems.take("--kube-api-qps", &self.kube_api_qps);
        let burst = problems.take("--kube-api-burst", &self.kube_api_burst).0;
        let burst = if burst == 0 { DEFAULT_BURST } else { burst };
        per_second.0.map(|per_second| Rate { per_second, burst })
    }
}

/// A number above zero, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerSecond(Option<f64>);

impl FlagType for PerSecond {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        match text.parse::<f32>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(Self(Some(f64::from(number)))),
            _ => Err("must be a number above 0, or none for no limit".to_owned()),
        }
    }

    fn placeholder() -> Self {
        Self(None)
    }
}
