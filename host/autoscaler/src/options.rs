//! Options of a group, in the forms of all versions of the autoscaler.

use jiff::SignedDuration;
use machinist_core::autoscaler::options::Options;
use prost_types::Duration;

use crate::messages::{Nanoseconds, NodeGroupAutoscalingOptions};

/// Reads the autoscaler's own options. A version that sends no form of a duration has none.
pub(crate) fn read(message: &NodeGroupAutoscalingOptions) -> Options {
    let either = |duration: &Option<Duration>, earlier: &Option<Nanoseconds>| {
        let earlier = earlier.map(|earlier| SignedDuration::from_nanos(earlier.duration));
        duration.as_ref().map(signed).or(earlier).unwrap_or(SignedDuration::ZERO)
    };
    Options {
        utilization_threshold: message.scale_down_utilization_threshold,
        gpu_utilization_threshold: message.scale_down_gpu_utilization_threshold,
        unneeded_time: either(&message.scale_down_unneeded_duration, &message.scale_down_unneeded_time),
        unready_time: either(&message.scale_down_unready_duration, &message.scale_down_unready_time),
        provision_time: either(&message.max_node_provision_duration, &message.max_node_provision_time),
        startup_time: message.max_node_startup_duration.as_ref().map(signed),
        ignores_daemon_sets: message.ignore_daemon_sets_utilization,
    }
}

/// Writes options in both forms. The others stay as the autoscaler has them.
pub(crate) fn write(options: Options, defaults: &NodeGroupAutoscalingOptions) -> NodeGroupAutoscalingOptions {
    let earlier = |duration: SignedDuration| {
        let duration = i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        Some(Nanoseconds { duration })
    };
    NodeGroupAutoscalingOptions {
        scale_down_utilization_threshold: options.utilization_threshold,
        scale_down_gpu_utilization_threshold: options.gpu_utilization_threshold,
        scale_down_unneeded_time: earlier(options.unneeded_time),
        scale_down_unready_time: earlier(options.unready_time),
        max_node_provision_time: earlier(options.provision_time),
        scale_down_unneeded_duration: Some(plain(options.unneeded_time)),
        scale_down_unready_duration: Some(plain(options.unready_time)),
        max_node_provision_duration: Some(plain(options.provision_time)),
        max_node_startup_duration: options.startup_time.map(plain),
        ignore_daemon_sets_utilization: options.ignores_daemon_sets,
        ..*defaults
    }
}

fn signed(duration: &Duration) -> SignedDuration {
    let nanoseconds = SignedDuration::from_nanos(i64::from(duration.nanos));
    SignedDuration::from_secs(duration.seconds).saturating_add(nanoseconds)
}

fn plain(duration: SignedDuration) -> Duration {
    Duration { seconds: duration.as_secs(), nanos: duration.subsec_nanos() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_either_form_and_written_in_both() {
        let earlier = NodeGroupAutoscalingOptions {
            scale_down_unneeded_time: Some(Nanoseconds { duration: 90_000_000_000 }),
            zero_or_max_node_scaling: true,
            ..NodeGroupAutoscalingOptions::default()
        };
        let options = read(&earlier);
        assert_eq!(options.unneeded_time, SignedDuration::from_secs(90));
        let written = write(options, &earlier);
        assert_eq!(written.scale_down_unneeded_time, earlier.scale_down_unneeded_time);
        assert_eq!(written.scale_down_unneeded_duration, Some(Duration { seconds: 90, nanos: 0 }));
        assert!(written.zero_or_max_node_scaling);
        assert_eq!(read(&written), options);
    }
}
