//! Between the contract's types and core's.

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::{
    Address, Capabilities, ClassSpec, CloudCondition, Creation, Deletion, InProgress, Listed, MachineRequest,
    Page, Vm, VmState,
};
use machinist_core::driver_error::{Breakage, Code, DriverError};
use machinist_core::id::{FailureDomain, Name, NodeName, ProviderId, ProviderName, Uid};

use crate::bindings::machinist::provider::types as wit;
use crate::vault::Vault;

/// What a driver says about itself, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The driver's own name.
    pub name: String,
    /// Its semantic version.
    pub version: semver::Version,
    /// What it serves; never empty, in order, each once.
    pub providers: Vec<ProviderName>,
    /// JSON Schema of `providerSpec`.
    pub class_schema: Option<String>,
    /// What it can do.
    pub capabilities: Capabilities,
    /// How long reads may lag behind a create.
    pub consistency_window: SignedDuration,
    /// Hosts that it would like to reach.
    pub hosts: Vec<String>,
}

/// A rule of the contract that an answer breaks.
fn broken(detail: impl Into<String>) -> Breakage {
    Breakage::Contract { detail: detail.into() }
}

pub(crate) fn request(request: &MachineRequest, deadline_ms: u64) -> wit::Request {
    let machine = &request.machine;
    wit::Request {
        machine: wit::Machine {
            namespace: machine.namespace.to_string(),
            name: machine.name.to_string(),
            uid: machine.uid.to_string(),
            labels: machine.labels.clone().into_iter().collect(),
            annotations: machine.annotations.clone().into_iter().collect(),
            provider_id: machine.provider_id.as_ref().map(ToString::to_string),
            node_template: machine.node_template.clone(),
            last_known_state: machine.last_known_state.clone(),
        },
        class: class(&request.class),
        idempotency_key: request.idempotency_key.clone(),
        cluster: request.cluster.clone(),
        deadline_ms,
    }
}

pub(crate) fn class(class: &ClassSpec) -> wit::Class {
    wit::Class {
        name: class.name.to_string(),
        provider: class.provider.to_string(),
        spec: class.spec.clone(),
        node_template: class.node_template.clone(),
        zones: class.zones.clone(),
    }
}

pub(crate) fn creation(creation: wit::Creation, vault: &Vault) -> Result<Creation, Breakage> {
    match creation {
        wit::Creation::Created(machine) => vm(machine, vault).map(Creation::Created),
        wit::Creation::InProgress(waiting) => Ok(Creation::InProgress(progress(waiting, vault))),
    }
}

pub(crate) fn deletion(deletion: wit::Deletion, vault: &Vault) -> Deletion {
    match deletion {
        wit::Deletion::Deleted(last_known_state) => Deletion::Deleted { last_known_state },
        wit::Deletion::InProgress(waiting) => Deletion::InProgress(progress(waiting, vault)),
    }
}

pub(crate) fn vm(vm: wit::Vm, vault: &Vault) -> Result<Vm, Breakage> {
    if vm.provider_id.is_empty() {
        return Err(broken("a machine without a provider id"));
    }
    let address = |address: wit::Address| Address { kind: address.kind, address: address.address };
    let condition = |condition: wit::Condition| CloudCondition {
        kind: condition.kind,
        status: condition.status,
        reason: condition.reason,
        message: vault.scrub_text(&condition.message).into_owned(),
    };
    Ok(Vm {
        provider_id: ProviderId::from(vm.provider_id),
        node_name: NodeName::from(vm.node_name),
        state: state(vm.state),
        addresses: vm.addresses.into_iter().map(address).collect(),
        failure_domain: vm.failure_domain.map(FailureDomain::from),
        conditions: vm.conditions.into_iter().map(condition).collect(),
        last_known_state: vm.last_known_state,
    })
}

pub(crate) fn page(page: wit::Page) -> Result<Page, Breakage> {
    let machines = page.machines.into_iter().map(listed).collect::<Result<_, _>>()?;
    Ok(Page { machines, next: page.next })
}

/// One answer for each question, in order; an empty id is none.
pub(crate) fn volume_ids(asked: usize, ids: Vec<Option<String>>) -> Result<Vec<Option<String>>, Breakage> {
    if ids.len() != asked {
        return Err(broken(format!("{} volume ids for {asked} volumes", ids.len())));
    }
    Ok(ids.into_iter().map(|id| id.filter(|id| !id.is_empty())).collect())
}

pub(crate) fn error(error: wit::DriverError, vault: &Vault) -> DriverError {
    DriverError {
        code: code(error.code),
        message: vault.scrub_text(&error.message).into_owned(),
        cloud_code: error.cloud_code.map(|code| vault.scrub_text(&code).into_owned()),
        retry_after: error.retry_after_ms.map(milliseconds),
        terminal: error.terminal,
        may_have_happened: error.may_have_happened,
        last_known_state: error.last_known_state,
        provider_id: error.provider_id.filter(|id| !id.is_empty()).map(ProviderId::from),
        node_name: error.node_name.filter(|name| !name.is_empty()).map(NodeName::from),
    }
}

pub(crate) fn about(about: wit::About) -> Result<About, Breakage> {
    let version = about
        .version
        .parse()
        .map_err(|_| broken(format!("describe: version {:?} is not a semantic version", about.version)))?;
    let mut providers: Vec<ProviderName> =
        about.providers.iter().map(|name| ProviderName::folded(name)).collect();
    providers.sort();
    providers.dedup();
    if providers.is_empty() || providers.iter().any(ProviderName::is_empty) {
        return Err(broken("describe: a driver serves at least one provider, and none has an empty name"));
    }
    let has = |flag| about.capabilities.contains(flag);
    Ok(About {
        name: about.name,
        version,
        providers,
        class_schema: about.class_schema,
        capabilities: Capabilities {
            status: has(wit::Capabilities::STATUS),
            initialize: has(wit::Capabilities::INITIALIZE),
            listing: has(wit::Capabilities::LISTING),
            volume_ids: has(wit::Capabilities::VOLUME_IDS),
            idempotency_key: has(wit::Capabilities::IDEMPOTENCY_KEY),
            // It is an interface of its own, not a flag.
            reboot: false,
        },
        consistency_window: milliseconds(about.consistency_window_ms),
        hosts: about.hosts,
    })
}

fn progress(progress: wit::Progress, vault: &Vault) -> InProgress {
    InProgress {
        resume_token: progress.resume_token,
        ask_again: milliseconds(progress.ask_again_ms),
        message: vault.scrub_text(&progress.message).into_owned(),
    }
}

fn listed(listed: wit::Listed) -> Result<Listed, Breakage> {
    if listed.provider_id.is_empty() {
        return Err(broken("a listed machine without a provider id"));
    }
    let created_at = listed.created_at_ms.and_then(|ms| {
        let ms = i64::try_from(ms).ok()?;
        Timestamp::from_millisecond(ms).ok()
    });
    Ok(Listed {
        provider_id: ProviderId::from(listed.provider_id),
        machine_name: Name::from(listed.machine_name),
        machine_uid: listed.machine_uid.filter(|uid| !uid.is_empty()).map(Uid::from),
        created_at,
    })
}

/// A longer wait than a day is not one that a driver can mean.
fn milliseconds(ms: u64) -> SignedDuration {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    SignedDuration::from_millis(i64::try_from(ms).unwrap_or(DAY_MS).min(DAY_MS))
}

fn state(state: wit::VmState) -> VmState {
    match state {
        wit::VmState::Pending => VmState::Pending,
        wit::VmState::Running => VmState::Running,
        wit::VmState::Stopping => VmState::Stopping,
        wit::VmState::Stopped => VmState::Stopped,
        wit::VmState::Unknown => VmState::Unknown,
    }
}

fn code(code: wit::Code) -> Code {
    match code {
        wit::Code::Canceled => Code::Canceled,
        wit::Code::Unknown => Code::Unknown,
        wit::Code::InvalidArgument => Code::InvalidArgument,
        wit::Code::DeadlineExceeded => Code::DeadlineExceeded,
        wit::Code::NotFound => Code::NotFound,
        wit::Code::AlreadyExists => Code::AlreadyExists,
        wit::Code::PermissionDenied => Code::PermissionDenied,
        wit::Code::ResourceExhausted => Code::ResourceExhausted,
        wit::Code::FailedPrecondition => Code::FailedPrecondition,
        wit::Code::Aborted => Code::Aborted,
        wit::Code::OutOfRange => Code::OutOfRange,
        wit::Code::Unimplemented => Code::Unimplemented,
        wit::Code::Internal => Code::Internal,
        wit::Code::Unavailable => Code::Unavailable,
        wit::Code::DataLoss => Code::DataLoss,
        wit::Code::Unauthenticated => Code::Unauthenticated,
        wit::Code::Uninitialized => Code::Uninitialized,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(version: &str, providers: &[&str]) -> wit::About {
        wit::About {
            name: "plain".to_owned(),
            version: version.to_owned(),
            providers: providers.iter().map(|&name| name.to_owned()).collect(),
            class_schema: None,
            capabilities: wit::Capabilities::STATUS,
            consistency_window_ms: 8_000,
            hosts: Vec::new(),
        }
    }

    #[test]
    fn provider_names_are_folded_sorted_and_unique() {
        let about = about(says("1.2.3", &["Sim", "aws", "sim "])).expect("fits the contract");
        assert_eq!(about.providers, ["aws", "sim"].map(ProviderName::from));
        assert!(about.capabilities.status && !about.capabilities.listing);
        assert_eq!(about.consistency_window, SignedDuration::from_secs(8));
    }

    #[test]
    fn a_description_without_version_or_provider_breaks_the_contract() {
        for wrong in [says("new", &["sim"]), says("1.0.0", &[]), says("1.0.0", &[" "])] {
            assert!(matches!(about(wrong), Err(Breakage::Contract { .. })));
        }
    }

    #[test]
    fn volume_ids_must_match_the_question() {
        let ids = vec![Some("vol-1".to_owned()), Some(String::new())];
        assert_eq!(volume_ids(2, ids.clone()), Ok(vec![Some("vol-1".to_owned()), None]));
        assert!(volume_ids(3, ids).is_err());
    }

    #[test]
    fn absurd_waits_are_cut_to_a_day() {
        assert_eq!(milliseconds(u64::MAX), SignedDuration::from_hours(24));
        assert_eq!(milliseconds(1_500), SignedDuration::from_millis(1_500));
    }
}
