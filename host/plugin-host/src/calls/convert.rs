//! Between the contract's types and core's.

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::error::{CallError, Code, DriverError, GuestFailure};
use machinist_core::driver::virtual_capacity::is_quantity;
use machinist_core::driver::{
    Address, Architecture, Capabilities, ClassSpec, CloudCondition, Creation, Deletion, InProgress, Listed,
    MachineIdentity, MachineRequest, NodeResources, Page, SecretValues, Vm, VmState,
};
use machinist_core::value::id::{
    ClassName, FailureDomain, Name, Namespace, NodeName, ProviderId, ProviderName, Uid,
};

use crate::calls::bindings::driver::machinist::provider::types as wit;
use crate::calls::bindings::optional::capacity::exports::machinist::capacity::capacity as wit_capacity;
use crate::output_limits::{
    self, HOSTS, ID_BYTES, ITEMS, NAME_BYTES, PAGE_ITEMS, SCHEMA_BYTES, STATE_BYTES, TEXT_BYTES, WORD_BYTES,
    broken, few, identifier,
};
use crate::vault::Vault;

/// A driver's description of itself, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The driver's own name.
    pub name: String,
    pub version: semver::Version,
    /// The providers that the driver serves: never empty, sorted, without duplicates.
    pub providers: Vec<ProviderName>,
    /// JSON Schema of `providerSpec`.
    pub class_schema: Option<String>,
    pub capabilities: Capabilities,
    /// How long reads may lag behind a create.
    pub consistency_window: SignedDuration,
    /// Hosts that it would like to reach.
    pub hosts: Vec<String>,
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

/// Reads a request back from a recording.
pub(crate) fn machine_request(request: wit::Request, secrets: SecretValues) -> MachineRequest {
    let machine = request.machine;
    MachineRequest {
        machine: MachineIdentity {
            namespace: Namespace::from(machine.namespace),
            name: Name::from(machine.name),
            uid: Uid::from(machine.uid),
            labels: machine.labels.into_iter().collect(),
            annotations: machine.annotations.into_iter().collect(),
            provider_id: machine.provider_id.map(ProviderId::from),
            node_template: machine.node_template,
            last_known_state: machine.last_known_state,
        },
        class: class_spec(request.class),
        idempotency_key: request.idempotency_key,
        cluster: request.cluster,
        secrets,
    }
}

pub(crate) fn class_spec(class: wit::Class) -> ClassSpec {
    ClassSpec {
        name: ClassName::from(class.name),
        provider: ProviderName::from(class.provider),
        spec: class.spec,
        node_template: class.node_template,
        zones: class.zones,
        driver_digest: None,
    }
}

/// The answer of a call that returns nothing.
#[expect(clippy::unnecessary_wraps, reason = "as the other conversions")]
pub(crate) fn done((): (), _: &Vault) -> Result<(), GuestFailure> {
    Ok(())
}

pub(crate) fn creation(creation: wit::Creation, vault: &Vault) -> Result<Creation, GuestFailure> {
    match creation {
        wit::Creation::Created(machine) => vm(machine, vault).map(Creation::Created),
        wit::Creation::InProgress(waiting) => progress(waiting, vault).map(Creation::InProgress),
    }
}

pub(crate) fn deletion(deletion: wit::Deletion, vault: &Vault) -> Result<Deletion, GuestFailure> {
    match deletion {
        wit::Deletion::Deleted(last_known_state) => {
            Ok(Deletion::Deleted { last_known_state: state_to_keep(last_known_state)? })
        }
        wit::Deletion::InProgress(waiting) => progress(waiting, vault).map(Deletion::InProgress),
    }
}

pub(crate) fn vm(vm: wit::Vm, vault: &Vault) -> Result<Vm, GuestFailure> {
    if vm.provider_id.is_empty() {
        return Err(broken("a machine without a provider id"));
    }
    let condition = |it: wit::Condition| {
        Ok(CloudCondition {
            kind: identifier("the type of a condition", it.kind, NAME_BYTES)?,
            status: identifier("the status of a condition", it.status, NAME_BYTES)?,
            reason: for_people(&it.reason, WORD_BYTES, vault),
            message: for_people(&it.message, TEXT_BYTES, vault),
        })
    };
    let failure_domain =
        vm.failure_domain.map(|name| identifier("a failure domain", name, NAME_BYTES)).transpose()?;
    Ok(Vm {
        provider_id: provider_id(vm.provider_id)?,
        node_name: node_name(vm.node_name)?,
        state: state(vm.state),
        addresses: few("addresses", vm.addresses, ITEMS)?
            .into_iter()
            .map(address)
            .collect::<Result<_, _>>()?,
        failure_domain: failure_domain.map(FailureDomain::from),
        conditions: few("conditions", vm.conditions, ITEMS)?
            .into_iter()
            .map(condition)
            .collect::<Result<_, _>>()?,
        last_known_state: state_to_keep(vm.last_known_state)?,
    })
}

/// A VM as the driver returned it.
pub(crate) fn vm_record(vm: &Vm) -> wit::Vm {
    wit::Vm {
        provider_id: vm.provider_id.to_string(),
        node_name: vm.node_name.to_string(),
        state: match vm.state {
            VmState::Pending => wit::VmState::Pending,
            VmState::Running => wit::VmState::Running,
            VmState::Stopping => wit::VmState::Stopping,
            VmState::Stopped => wit::VmState::Stopped,
            VmState::Unknown => wit::VmState::Unknown,
        },
        addresses: vm
            .addresses
            .iter()
            .map(|it| wit::Address { kind: it.kind.clone(), address: it.address.clone() })
            .collect(),
        failure_domain: vm.failure_domain.as_ref().map(ToString::to_string),
        conditions: vm
            .conditions
            .iter()
            .map(|it| wit::Condition {
                kind: it.kind.clone(),
                status: it.status.clone(),
                reason: it.reason.clone(),
                message: it.message.clone(),
            })
            .collect(),
        last_known_state: vm.last_known_state.clone(),
    }
}

/// The id of a Node, which fits into `spec.providerID` of Cluster API's Machines.
pub(crate) fn node_id(id: String) -> Result<ProviderId, GuestFailure> {
    const MOST_BYTES: usize = 512;
    if id.is_empty() {
        return Err(broken("node-id: an empty id"));
    }
    identifier("node-id: an id", id, MOST_BYTES).map(ProviderId::from)
}

/// The `providerSpec` of a class in a failure domain.
pub(crate) fn placed_spec(spec: String) -> Result<String, GuestFailure> {
    let spec = output_limits::opaque("place: a providerSpec", spec, SCHEMA_BYTES)?;
    match serde_json::from_str::<serde_json::Value>(&spec) {
        Ok(serde_json::Value::Object(_)) => Ok(spec),
        Ok(_) | Err(_) => Err(broken("place: a providerSpec that is no JSON object")),
    }
}

pub(crate) fn node_resources(answer: wit_capacity::NodeResources) -> Result<NodeResources, GuestFailure> {
    let mut resources = std::collections::BTreeMap::new();
    for (name, quantity) in few("resources of a Node", answer.resources, ITEMS)? {
        let name = identifier("node-capacity: a resource", name, NAME_BYTES)?;
        if name.is_empty() || !is_quantity(&quantity) {
            return Err(broken(format!(
                "node-capacity: resource {name:?} with quantity {:?}",
                output_limits::text(&quantity, WORD_BYTES)
            )));
        }
        if resources.insert(name.clone(), quantity).is_some() {
            return Err(broken(format!("node-capacity: resource {name:?} twice")));
        }
    }
    for needed in ["cpu", "memory"] {
        if !resources.contains_key(needed) {
            return Err(broken(format!("node-capacity: a Node without {needed}")));
        }
    }
    let architecture = answer.architecture.map(|word| {
        let known = Architecture::ALL.into_iter().find(|known| known.as_str() == word);
        known.ok_or_else(|| {
            broken(format!("node-capacity: architecture {:?}", output_limits::text(&word, WORD_BYTES)))
        })
    });
    let operating_system = answer
        .operating_system
        .filter(|word| !word.is_empty())
        .map(|word| identifier("node-capacity: an operating system", word, NAME_BYTES));
    Ok(NodeResources {
        resources,
        architecture: architecture.transpose()?,
        operating_system: operating_system.transpose()?,
    })
}

pub(crate) fn page(page: wit::Page) -> Result<Page, GuestFailure> {
    let machines = few("machines on a page", page.machines, PAGE_ITEMS)?;
    Ok(Page {
        machines: machines.into_iter().map(listed).collect::<Result<_, _>>()?,
        next: page
            .next
            .map(|token| output_limits::opaque("the token of a page", token, STATE_BYTES))
            .transpose()?,
    })
}

/// One answer for each question, in order; an empty id is none.
pub(crate) fn volume_ids(
    asked: usize,
    ids: Vec<Option<String>>,
) -> Result<Vec<Option<String>>, GuestFailure> {
    if ids.len() != asked {
        return Err(broken(format!("{} volume ids for {asked} volumes", ids.len())));
    }
    let id = |id: Option<String>| {
        id.filter(|id| !id.is_empty()).map(|id| identifier("a volume id", id, ID_BYTES)).transpose()
    };
    ids.into_iter().map(id).collect()
}

/// Bounds and scrubs the driver's warnings about a class.
pub(crate) fn warnings(warnings: &[String], vault: &Vault) -> Vec<String> {
    let mut shown: Vec<String> =
        warnings.iter().take(ITEMS).map(|warning| for_people(warning, TEXT_BYTES, vault)).collect();
    if warnings.len() > ITEMS {
        shown.push(format!("… ({} warnings left out)", warnings.len() - ITEMS));
    }
    shown
}

/// An error of the driver, or what the contract says of one that names what cannot be.
pub(crate) fn error(error: wit::DriverError, vault: &Vault) -> CallError {
    match driver_error(error, vault) {
        Ok(error) => error.into(),
        Err(failure) => failure.into(),
    }
}

fn driver_error(error: wit::DriverError, vault: &Vault) -> Result<DriverError, GuestFailure> {
    let known = |id: Option<String>| id.filter(|id| !id.is_empty());
    Ok(DriverError {
        code: code(error.code),
        message: for_people(&error.message, TEXT_BYTES, vault),
        cloud_code: error.cloud_code.map(|code| for_people(&code, WORD_BYTES, vault)),
        retry_after: error.retry_after_ms.map(milliseconds),
        terminal: error.terminal,
        may_have_happened: error.may_have_happened,
        last_known_state: state_to_keep(error.last_known_state)?,
        provider_id: known(error.provider_id).map(provider_id).transpose()?,
        node_name: known(error.node_name).map(node_name).transpose()?,
    })
}

/// Secrets are taken out first: half of one would not be known as one.
fn for_people(text: &str, most_bytes: usize, vault: &Vault) -> String {
    output_limits::text(&vault.scrub_text(text), most_bytes)
}

fn provider_id(id: String) -> Result<ProviderId, GuestFailure> {
    identifier("a provider id", id, ID_BYTES).map(ProviderId::from)
}

fn node_name(name: String) -> Result<NodeName, GuestFailure> {
    identifier("a node name", name, NAME_BYTES).map(NodeName::from)
}

fn address(it: wit::Address) -> Result<Address, GuestFailure> {
    Ok(Address {
        kind: identifier("the type of an address", it.kind, NAME_BYTES)?,
        address: identifier("an address", it.address, NAME_BYTES)?,
    })
}

fn state_to_keep(state: Option<String>) -> Result<Option<String>, GuestFailure> {
    state.map(|state| output_limits::opaque("a last known state", state, STATE_BYTES)).transpose()
}

pub(crate) fn about(about: wit::About) -> Result<About, GuestFailure> {
    let version = identifier("describe: a version", about.version, NAME_BYTES)?;
    let version = version
        .parse()
        .map_err(|_| broken(format!("describe: version {version:?} is not a semantic version")))?;
    let provider = |name| identifier("describe: a provider", name, NAME_BYTES);
    let mut providers: Vec<ProviderName> = few("providers in describe", about.providers, ITEMS)?
        .into_iter()
        .map(|name| provider(name).map(|name| ProviderName::folded(&name)))
        .collect::<Result<_, _>>()?;
    providers.sort();
    providers.dedup();
    if providers.is_empty() || providers.iter().any(ProviderName::is_empty) {
        return Err(broken("describe: a driver serves at least one provider, and none has an empty name"));
    }
    let has = |flag| about.capabilities.contains(flag);
    Ok(About {
        name: identifier("describe: a name", about.name, NAME_BYTES)?,
        version,
        providers,
        class_schema: about
            .class_schema
            .map(|schema| output_limits::opaque("describe: a class schema", schema, SCHEMA_BYTES))
            .transpose()?,
        capabilities: Capabilities {
            status: has(wit::Capabilities::STATUS),
            initialize: has(wit::Capabilities::INITIALIZE),
            listing: has(wit::Capabilities::LISTING),
            volume_ids: has(wit::Capabilities::VOLUME_IDS),
            idempotency_key: has(wit::Capabilities::IDEMPOTENCY_KEY),
            // These are interfaces of their own, not flags.
            reboot: false,
            delete_by_id: false,
            node_id: false,
            placement: false,
            interruption: false,
            capacity: false,
        },
        consistency_window: milliseconds(about.consistency_window_ms),
        hosts: few("hosts in describe", about.hosts, HOSTS)?
            .into_iter()
            .map(|host| identifier("describe: a host", host, ID_BYTES))
            .collect::<Result<_, _>>()?,
    })
}

fn progress(progress: wit::Progress, vault: &Vault) -> Result<InProgress, GuestFailure> {
    Ok(InProgress {
        resume_token: output_limits::opaque("a resume token", progress.resume_token, STATE_BYTES)?,
        ask_again: milliseconds(progress.ask_again_ms),
        message: for_people(&progress.message, TEXT_BYTES, vault),
    })
}

fn listed(listed: wit::Listed) -> Result<Listed, GuestFailure> {
    if listed.provider_id.is_empty() {
        return Err(broken("a listed machine without a provider id"));
    }
    let created_at = listed.created_at_ms.and_then(|ms| {
        let ms = i64::try_from(ms).ok()?;
        Timestamp::from_millisecond(ms).ok()
    });
    // Names and uids come from marks on VMs, which anyone with access to the account may write. A mark that no object
    // can have stays in the page, and does not make it invalid or endless.
    let mark = |text: &str| output_limits::text(text, NAME_BYTES);
    Ok(Listed {
        provider_id: provider_id(listed.provider_id)?,
        machine_name: Name::from(mark(&listed.machine_name)),
        machine_uid: listed.machine_uid.filter(|uid| !uid.is_empty()).map(|uid| Uid::from(mark(&uid))),
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
            assert!(matches!(about(wrong), Err(GuestFailure::Contract { .. })));
        }
    }

    #[test]
    fn volume_ids_must_match_the_question() {
        let ids = vec![Some("vol-1".to_owned()), Some(String::new())];
        assert_eq!(volume_ids(2, ids.clone()), Ok(vec![Some("vol-1".to_owned()), None]));
        assert!(volume_ids(3, ids).is_err());
    }

    #[test]
    fn the_id_of_a_node_fits_into_cluster_apis_machines() {
        assert_eq!(node_id("aws:///a/i-1".to_owned()), Ok(ProviderId::from("aws:///a/i-1")));
        for wrong in [String::new(), "x".repeat(513), "a\nb".to_owned()] {
            assert!(matches!(node_id(wrong), Err(GuestFailure::Contract { .. })));
        }
    }

    #[test]
    fn a_placed_class_has_a_json_object() {
        assert_eq!(placed_spec("{\"zone\":\"a\"}".to_owned()), Ok("{\"zone\":\"a\"}".to_owned()));
        for wrong in ["", "null", "{", "[]"] {
            assert!(matches!(placed_spec(wrong.to_owned()), Err(GuestFailure::Contract { .. })), "{wrong}");
        }
    }

    #[test]
    fn resources_of_a_node_are_quantities_with_cpu_and_memory() {
        let of = |resources: &[(&str, &str)], architecture: Option<&str>| {
            node_resources(wit_capacity::NodeResources {
                resources: resources.iter().map(|&(name, is)| (name.to_owned(), is.to_owned())).collect(),
                architecture: architecture.map(str::to_owned),
                operating_system: Some(String::new()),
            })
        };
        let found = of(&[("memory", "8Gi"), ("cpu", "2"), ("nvidia.com/gpu", "1")], Some("arm64")).unwrap();
        assert_eq!(found.resources.keys().collect::<Vec<_>>(), ["cpu", "memory", "nvidia.com/gpu"]);
        assert_eq!((found.architecture, found.operating_system), (Some(Architecture::Arm64), None));
        for wrong in [
            of(&[("cpu", "2")], None),
            of(&[("cpu", "two"), ("memory", "8Gi")], None),
            of(&[("cpu", "-1"), ("memory", "8Gi")], None),
            of(&[("cpu", "2"), ("memory", "8Gi"), ("cpu", "2")], None),
            of(&[("cpu", "2"), ("memory", "8Gi"), ("", "1")], None),
            of(&[("cpu", "2"), ("memory", "8Gi")], Some("x86_64")),
        ] {
            assert!(matches!(wrong, Err(GuestFailure::Contract { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn absurd_waits_are_cut_to_a_day() {
        assert_eq!(milliseconds(u64::MAX), SignedDuration::from_hours(24));
        assert_eq!(milliseconds(1_500), SignedDuration::from_millis(1_500));
    }
}
