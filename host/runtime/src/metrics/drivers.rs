//! Calls of drivers, by the names that operators know.

use jiff::SignedDuration;
use machinist_core::driver::Operation;
use machinist_core::driver::error::CallError;
use machinist_core::value::id::ProviderName;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    provider: String,
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    provider: String,
    operation: &'static str,
    error_code: &'static str,
}

#[derive(Debug)]
pub(crate) struct DriverMetrics {
    seconds: Family<CallLabels, Histogram, fn() -> Histogram>,
    failed: Family<FailureLabels, Counter>,
}

impl Default for DriverMetrics {
    fn default() -> Self {
        // 10 ms to 10 minutes.
        let seconds = || Histogram::new(exponential_buckets(0.01, 2.0, 17));
        Self { seconds: Family::new_with_constructor(seconds), failed: Family::default() }
    }
}

impl DriverMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "mcm_cloud_api_driver_request_duration_seconds",
            "Time of a call of a driver, by provider and operation",
            self.seconds.clone(),
        );
        registry.register(
            "mcm_cloud_api_driver_requests_failed",
            "Calls of a driver that failed, by provider, operation and code",
            self.failed.clone(),
        );
    }

    pub(crate) fn called(
        &self,
        provider: &ProviderName,
        operation: Operation,
        took: SignedDuration,
        error: Option<&CallError>,
    ) {
        let (provider, operation) = (provider.to_string(), operation.name());
        let labels = CallLabels { provider: provider.clone(), operation };
        self.seconds.get_or_create(&labels).observe(took.max(SignedDuration::ZERO).as_secs_f64());
        if let Some(error) = error {
            let labels = FailureLabels { provider, operation, error_code: error.code().name() };
            self.failed.get_or_create(&labels).inc();
        }
    }
}
