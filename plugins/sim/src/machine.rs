//! The work of each call in the cloud.
//!
//! A machine's VM has three tags: the cluster, the Machine's uid and its name. The driver never touches a VM without
//! the cluster's tag.

use machinist_sdk::driver::{self, self as wit, Code, Failure, Log, Request};

use crate::answer::{CLUSTER_TAG, NAME_TAG, State, UID_TAG, Vm};
use crate::cloud::Cloud;
use crate::errors::CloudCode;
use crate::{map, spec};

/// The time until the next search for a VM that exists and that reads do not show yet.
const LAG_RETRY_MS: u64 = 1_000;

type Outcome<T> = Result<T, Failure>;

/// The machines of one cloud account.
#[derive(Clone, Copy)]
pub(crate) struct Machines<'a> {
    pub(crate) cloud: &'a Cloud<'a>,
    pub(crate) log: Log<'a>,
}

impl Machines<'_> {
    /// Sends one request in the normal case. The key makes repetitions safe, so no search comes first, unless there are
    /// no keys.
    pub(crate) fn create(&self, request: &Request, user_data: Option<&str>) -> Outcome<wit::Vm> {
        let spec = spec::read(&request.class)?.spec;
        if !self.cloud.keeps_keys()
            && let Some(vm) = only(self.cloud.find(&request.cluster, &request.machine.uid)?)?
        {
            return Ok(map::vm(&vm));
        }
        let machine = &request.machine;
        let tags = [
            (CLUSTER_TAG, request.cluster.as_str()),
            (UID_TAG, machine.uid.as_str()),
            (NAME_TAG, machine.name.as_str()),
        ];
        let mut full = None;
        for zone in &spec.zones {
            let body = spec.body(&machine.name, zone, tags, user_data);
            let refused = match self.cloud.create(&body, &request.idempotency_key) {
                Ok(vm) => return Ok(map::vm(&vm)),
                Err(refused) => refused,
            };
            match refused.code {
                Some(CloudCode::CapacityExhausted) => {
                    self.log.info("zone has no room", &[("zone", zone)]);
                    full = Some(refused);
                }
                Some(CloudCode::IdempotencyMismatch) => return self.adopt(request),
                _ => return Err(refused.into()),
            }
        }
        Err(match full {
            Some(refused) => {
                let mut failure = Failure::from(refused);
                failure.message = format!("{}; asked for in {}", failure.message, spec.zones.join(", "));
                failure
            }
            None => Failure::new(Code::Internal, "failed to create the VM: the class names no zone"),
        })
    }

    /// An earlier create with another class, other user data or another zone made a VM with this key: it is the
    /// machine's.
    fn adopt(&self, request: &Request) -> Outcome<wit::Vm> {
        // From here on every error must say that there may be a VM.
        let found = self.cloud.find(&request.cluster, &request.machine.uid).map_err(Failure::from);
        match found.and_then(only).map_err(Failure::may_have_happened)? {
            Some(vm) => {
                self.log.info("VM of an earlier create adopted", &[("provider-id", &map::provider_id(&vm))]);
                Ok(map::vm(&vm))
            }
            None => Err(Failure::new(
                Code::Aborted,
                "failed to create the VM: an earlier create made it with other parameters, and the cloud's reads do \
                 not show it yet",
            )
            .cloud_code("idempotency_mismatch")
            .retry_after_ms(LAG_RETRY_MS)
            .may_have_happened()),
        }
    }

    /// Sends no request unless the class asks for it.
    pub(crate) fn initialize(&self, request: &Request) -> Outcome<wit::Vm> {
        if !spec::asks_for_initialize(&request.class) {
            return not_asked_for(request);
        }
        if let Some((_, id)) = own_id(request) {
            return self.finish(id, request);
        }
        match only(self.cloud.find(&request.cluster, &request.machine.uid)?)? {
            Some(vm) if vm.initialized => Ok(map::vm(&vm)),
            Some(vm) => self.finish(&vm.id, request),
            None => Err(not_found(request)),
        }
    }

    fn finish(&self, id: &str, request: &Request) -> Outcome<wit::Vm> {
        match self.cloud.initialize(id)? {
            Some(vm) => Ok(map::vm(&vm)),
            None => Err(not_found(request)),
        }
    }

    /// Returns the state of the machine's VM. Changes nothing.
    pub(crate) fn get_status(&self, request: &Request) -> Outcome<wit::Vm> {
        let vm = self.locate(request)?.ok_or_else(|| not_found(request))?;
        let works = vm.state != State::Stopping;
        if works && !vm.initialized && spec::asks_for_initialize(&request.class) {
            let mut due = Failure::new(
                Code::Uninitialized,
                format!("the VM {} is made and not initialized yet", vm.id),
            );
            due.provider_id = Some(map::provider_id(&vm));
            due.node_name = Some(vm.name);
            return Err(due);
        }
        Ok(map::vm(&vm))
    }

    /// Restarts the machine's VM. A VM that is being deleted counts as none.
    pub(crate) fn reboot(&self, request: &Request) -> Outcome<()> {
        let vm = self.locate(request)?.filter(|vm| vm.state != State::Stopping);
        let vm = vm.ok_or_else(|| not_found(request))?;
        self.cloud.reboot(&vm.id)?.ok_or_else(|| not_found(request))
    }

    /// Finds the VM by id, else by uid. An id that leads to another Machine's VM leads nowhere; one that leads to
    /// another cluster's VM, or to one without a mark, is refused. An id without a VM is a complete answer: the cloud
    /// reuses no id, and a deletion and a listing find a second VM with this uid.
    fn locate(&self, request: &Request) -> Outcome<Option<Vm>> {
        if let Some((_, id)) = own_id(request) {
            match self.cloud.get(id)?.filter(Vm::exists) {
                Some(vm) if belongs(&vm, request) => return Ok(Some(vm)),
                Some(vm) => self.foreign(&vm, request)?,
                None => return Ok(None),
            }
        }
        only(self.cloud.find(&request.cluster, &request.machine.uid)?)
    }

    /// Deletes every VM with the machine's marks, and volumes that no VM takes along.
    pub(crate) fn delete(&self, request: &Request) -> Outcome<()> {
        let (cluster, uid) = (&request.cluster, &request.machine.uid);
        let found = self.cloud.find(cluster, uid)?;
        for vm in found.iter().filter(|vm| vm.state != State::Stopping) {
            self.cloud.delete(&vm.id)?;
        }
        if let Some((_, id)) = own_id(request)
            && !found.iter().any(|vm| vm.id == id)
        {
            self.delete_by_id(id, request)?;
        }
        let may_have_volumes = found.is_empty()
            || found.iter().any(|vm| vm.has_volumes)
            || spec::may_ask_for_volumes(&request.class);
        if !may_have_volumes {
            return Ok(());
        }
        for volume in self.cloud.volumes(cluster, uid)? {
            // An attached volume is deleted with its VM.
            if volume.attached_to.is_none() {
                self.cloud.delete_volume(&volume.id)?;
            }
        }
        Ok(())
    }

    /// Deletes a VM that the listing does not show. Reads are stale, so an unknown VM may exist: the order is not
    /// stale, and the id is one that this driver returned.
    fn delete_by_id(&self, id: &str, request: &Request) -> Outcome<()> {
        match self.cloud.get(id)? {
            Some(vm) if !vm.exists() || vm.state == State::Stopping => {}
            Some(vm) if !belongs(&vm, request) => self.foreign(&vm, request)?,
            Some(_) | None => self.cloud.delete(id)?,
        }
        Ok(())
    }

    /// Deletes this VM and no other, with its volumes.
    pub(crate) fn delete_one(&self, request: &Request, provider_id: &str) -> Outcome<()> {
        let Some((_, id)) = map::parts(provider_id) else {
            let message = format!("{provider_id:?} is no id of this driver");
            return Err(Failure::new(Code::InvalidArgument, message));
        };
        if own_id(request).is_some_and(|(_, own)| own == id) {
            let message = format!("the VM {id} is the one that the Machine keeps, left alone");
            return Err(Failure::new(Code::FailedPrecondition, message));
        }
        match self.cloud.get(id)? {
            None => Ok(()),
            Some(vm) if !vm.exists() || vm.state == State::Stopping => Ok(()),
            Some(vm) if !vm.is_of(&request.cluster) => self.foreign(&vm, request),
            Some(_) => Ok(self.cloud.delete(id)?),
        }
    }

    /// Leaves another machine's VM alone. Refuses one with another cluster's mark (a control plane was moved) or
    /// without a mark (it may be anybody's): both "there is none" and "it is removed" would be wrong.
    fn foreign(&self, vm: &Vm, request: &Request) -> Outcome<()> {
        self.log.info("the provider id leads to another machine's VM, left alone", &[("vm", &vm.id)]);
        let refused = |message: String| Err(Failure::new(Code::FailedPrecondition, message));
        let id = &vm.id;
        match vm.tag(CLUSTER_TAG) {
            Some(cluster) if *cluster == request.cluster => Ok(()),
            Some(cluster) => refused(format!(
                "the VM {id} carries the mark of cluster {cluster}, left alone: start the host with --cluster-id={cluster}"
            )),
            None => refused(format!(
                "the VM {id} carries no cluster's mark, left alone: if it is this Machine's, tag it with {CLUSTER_TAG}={} and \
                 {UID_TAG}={}, else correct the Machine",
                request.cluster, request.machine.uid
            )),
        }
    }

    /// Returns one page of the cluster's VMs.
    pub(crate) fn list(&self, cluster: &str, token: Option<&str>) -> Outcome<wit::Page> {
        let page = self.cloud.page(cluster, token)?;
        let ours = page.entries.iter().filter(|vm| vm.exists() && vm.is_of(cluster));
        Ok(wit::Page { machines: ours.map(map::listed).collect(), next: page.next })
    }
}

/// Returns the facts that are known without a request. In the same reconcile as the create the id may be unknown. The
/// answer is then that there is no such step, since reads may not show the VM yet.
fn not_asked_for(request: &Request) -> Outcome<wit::Vm> {
    let Some((zone, _)) = own_id(request) else {
        return Err(Failure::new(
            Code::Unimplemented,
            "nothing to initialize: the MachineClass does not ask for it (initialize in its providerSpec)",
        ));
    };
    Ok(wit::Vm {
        provider_id: request.machine.provider_id.clone().unwrap_or_default(),
        node_name: request.machine.name.clone(),
        state: wit::VmState::Unknown,
        addresses: Vec::new(),
        failure_domain: Some(zone.to_owned()),
        conditions: Vec::new(),
        last_known_state: None,
    })
}

fn own_id(request: &Request) -> Option<(&str, &str)> {
    request.machine.provider_id.as_deref().and_then(map::parts)
}

/// A Machine that was restored from a backup has another uid and the same name.
///
/// A cloud with VMs of machine-controller-manager needs one more case: a VM without any cluster's mark, with the tags
/// that the plugin's settings adopt and the Machine's name. The class's own tags prove nothing: anyone who can write
/// classes chooses them.
fn belongs(vm: &Vm, request: &Request) -> bool {
    let machine = &request.machine;
    vm.is_of(&request.cluster)
        && (vm.tag(UID_TAG) == Some(&machine.uid) || vm.tag(NAME_TAG) == Some(&machine.name))
}

/// Returns the VM that is not being deleted, else one that is.
fn only(vms: Vec<Vm>) -> Outcome<Option<Vm>> {
    let (going, working): (Vec<Vm>, Vec<Vm>) = vms.into_iter().partition(|vm| vm.state == State::Stopping);
    if working.len() > 1 {
        let ids: Vec<&str> = working.iter().take(5).map(|vm| vm.id.as_str()).collect();
        return Err(Failure::new(
            Code::OutOfRange,
            format!("{} VMs carry this Machine's uid: {}; delete all but one", working.len(), ids.join(", ")),
        ));
    }
    Ok(working.into_iter().next().or(going.into_iter().next()))
}

fn not_found(request: &Request) -> Failure {
    let machine = &request.machine;
    driver::not_found(format!("there is no VM of Machine {} with uid {}", machine.name, machine.uid))
}
