//! Counts calls of cluster-autoscaler.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tonic::Code;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    method: &'static str,
    code: &'static str,
}

/// Calls by method and code. A clone counts into the same series.
#[derive(Clone, Debug, Default)]
pub struct CallMetrics(Family<CallLabels, Counter>);

impl CallMetrics {
    /// Puts the metric into a registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "machinist_autoscaler_calls",
            "Calls of cluster-autoscaler, by method and gRPC code",
            self.0.clone(),
        );
    }

    /// With one series, which shows the labels: for the reference of metrics.
    pub fn register_example(registry: &mut Registry) {
        let example = Self::default();
        example.count("", Code::Ok);
        example.register(registry);
    }

    pub(crate) fn count(&self, method: &'static str, code: Code) {
        self.0.get_or_create(&CallLabels { method, code: name(code) }).inc();
    }
}

/// The name of a code, as gRPC's own documents have it.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
