//! Fields of API objects, as the rest of the crate reads them. Nothing here needs a client or a cache.

use kube::core::ObjectMeta;
use machinist_api::machine::LastOperation;
use machinist_api::machine_deployment::Strategy;
use machinist_api::value::IntOrString;
use machinist_api::{Machine, MachineClass, names};
use machinist_core::machine::OperationFact;
use machinist_core::machine_deployment::{RawRolloutBounds, RawStrategy};
use machinist_core::value::id::{NodeName, ObjectKey};
use machinist_core::value::int_or_percent::RawIntOrPercent;
use machinist_core::value::phase::Phase;

/// Returns type and state of the last operation, if both are known words.
pub(crate) fn operation_of(last: &LastOperation) -> Option<OperationFact> {
    let kind = last.type_.as_ref().and_then(machinist_api::Word::known)?;
    let state = last.state.as_ref().and_then(machinist_api::Word::known)?;
    Some(OperationFact { kind, state })
}

/// Returns the phase. An unknown word counts as Unknown for a Machine with a VM, so that health decides, and as New for
/// a Machine without one.
pub(crate) fn phase_of(machine: &Machine) -> Phase {
    let has_vm = machine.provider_id().is_some();
    machine.phase().known().unwrap_or(if has_vm { Phase::Unknown } else { Phase::New })
}

/// Returns the Node that a Machine's label names.
pub(crate) fn node_name_of(machine: &Machine) -> Option<NodeName> {
    let labels = machine.metadata.labels.as_ref()?;
    labels.get(names::labels::NODE).filter(|name| !name.is_empty()).map(NodeName::new)
}

/// Returns the cluster's mark that is stored on an object.
pub(crate) fn cluster_mark(meta: &ObjectMeta) -> Option<&str> {
    meta.annotations.as_ref()?.get(names::annotations::CLUSTER_MARK).map(String::as_str)
}

/// Returns the keys of the Secrets that a class names, credentials last.
pub(crate) fn secret_keys(class: &MachineClass) -> Vec<ObjectKey> {
    let own = class.metadata.namespace.as_deref().unwrap_or_default();
    class
        .secret_references()
        .filter_map(|reference| {
            let name = reference.name.as_deref().filter(|name| !name.is_empty())?;
            let namespace =
                reference.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(own);
            Some(ObjectKey::new(namespace, name))
        })
        .collect()
}

/// Returns the strategy of a deployment as it was written, for the core to understand.
pub(crate) fn raw_strategy(strategy: &Strategy) -> RawStrategy {
    let word = |word: &str| word.to_owned();
    let bounds = |unavailable: &Option<IntOrString>, surge: &Option<IntOrString>| RawRolloutBounds {
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

pub(crate) fn share(raw: &IntOrString) -> RawIntOrPercent {
    match raw {
        IntOrString::Int(number) => RawIntOrPercent::Int(*number),
        IntOrString::Text(text) => RawIntOrPercent::Text(text.clone()),
    }
}
