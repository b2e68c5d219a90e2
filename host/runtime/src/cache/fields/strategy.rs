//! The strategy of a deployment as it was written, for the core to understand.

use machinist_api::machine_deployment::Strategy;
use machinist_api::value::IntOrString;
use machinist_core::machine_deployment::{RawBounds, RawStrategy};
use machinist_core::value::int_or_percent::RawIntOrPercent;

/// The fields.
pub(crate) fn raw(strategy: &Strategy) -> RawStrategy {
    let word = |word: &str| word.to_owned();
    let bounds = |unavailable: &Option<IntOrString>, surge: &Option<IntOrString>| RawBounds {
        max_unavailable: unavailable.as_ref().map(share),
        max_surge: surge.as_ref().map(share),
    };
    let rolling = strategy.rolling_update.as_ref();
    let in_place = strategy.in_place_update.as_ref();
    RawStrategy {
        kind: strategy.type_.as_ref().map(|kind| word(kind.as_str())),
        rolling: rolling.map(|rolling| bounds(&rolling.max_unavailable, &rolling.max_surge)),
        in_place: in_place.map(|in_place| bounds(&in_place.max_unavailable, &in_place.max_surge)),
        orchestration: in_place
            .and_then(|in_place| in_place.orchestration_type.as_ref())
            .map(|who| word(who.as_str())),
    }
}

/// One field.
pub(crate) fn share(raw: &IntOrString) -> RawIntOrPercent {
    match raw {
        IntOrString::Int(number) => RawIntOrPercent::Int(*number),
        IntOrString::Text(text) => RawIntOrPercent::Text(text.clone()),
    }
}
