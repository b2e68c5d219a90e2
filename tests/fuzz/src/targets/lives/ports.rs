//! A cloud that answers as the input says.

#![expect(clippy::result_large_err, reason = "the answers of the port of drivers")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use machinist_core::driver::error::{CallError, Code, DriverError, Refusal};
use machinist_core::driver::{
    Capabilities, ClassRequest, ClassSpec, Creation, Deletion, DriverFacts, DriverResult, InProgress,
    ListRequest, Listed, MachineRequest, NodeResources, Page, Vm, VmState,
};
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{FailureDomain, ProviderId, ProviderName, Uid};
use machinist_runtime::ports::Drivers;
use serde_json::Value;

/// The VMs, and what the next calls answer.
#[derive(Clone)]
pub(super) struct Cloud(Arc<Mutex<Inner>>);

struct Inner {
    answers: Vec<String>,
    calls: usize,
    /// Those that are there, by the Machine's uid.
    vms: BTreeMap<Uid, Vec<Made>>,
    made: usize,
    most: usize,
}

#[derive(Clone)]
struct Made {
    id: ProviderId,
    name: String,
}

impl Cloud {
    /// Answers these in turn, for ever.
    pub(super) fn answering(answers: &Value) -> Self {
        let answers = answers.as_array().into_iter().flatten().take(32);
        let answers = answers.map(|answer| answer.as_str().unwrap_or_default().to_owned()).collect();
        Self(Arc::new(Mutex::new(Inner { answers, calls: 0, vms: BTreeMap::new(), made: 0, most: 0 })))
    }

    pub(super) fn drivers(&self) -> Arc<dyn Drivers> {
        Arc::new(self.clone())
    }

    /// The most VMs that one Machine had at the same time.
    pub(super) fn most_vms_of_one(&self) -> usize {
        self.lock().most
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a moment, and then perhaps fails as the input says.
    fn answer<'a, T: Send + 'a>(
        &'a self,
        act: impl FnOnce(&mut Inner) -> DriverResult<T> + Send + 'a,
    ) -> BoxFuture<'a, DriverResult<T>> {
        async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let mut inner = self.lock();
            inner.calls += 1;
            let number = inner.calls % inner.answers.len().max(1);
            match inner.answers.get(number).map(String::as_str) {
                Some("internal") => Err(failed(Code::Internal)),
                Some("not-found") => Err(failed(Code::NotFound)),
                Some("exhausted") => Err(failed(Code::ResourceExhausted)),
                Some("precondition") => Err(failed(Code::FailedPrecondition)),
                Some("uninitialized") => Err(failed(Code::Uninitialized)),
                // It was done all the same.
                Some("lost") => {
                    let _done = act(&mut inner);
                    Err(DriverError {
                        may_have_happened: true,
                        ..DriverError::new(Code::Unavailable, "lost")
                    }
                    .into())
                }
                _ => act(&mut inner),
            }
        }
        .boxed()
    }
}

impl Inner {
    fn vm(&self, request: &MachineRequest) -> Option<Vm> {
        self.vms.get(&request.machine.uid)?.first().map(Made::shown)
    }

    /// The same key gives the same VM.
    fn make(&mut self, request: &MachineRequest) -> Vm {
        if let Some(vm) = self.vm(request) {
            return vm;
        }
        self.made += 1;
        let id = ProviderId::from(format!("sim:///vm-{}", self.made));
        let made = Made { id, name: request.machine.name.to_string() };
        let shown = made.shown();
        let all = self.vms.entry(request.machine.uid.clone()).or_default();
        all.push(made);
        self.most = self.most.max(all.len());
        shown
    }
}

impl Made {
    fn shown(&self) -> Vm {
        Vm {
            provider_id: self.id.clone(),
            node_name: self.name.as_str().into(),
            state: VmState::Running,
            addresses: Vec::new(),
            failure_domain: None,
            conditions: Vec::new(),
            last_known_state: None,
        }
    }
}

fn failed(code: Code) -> CallError {
    DriverError::new(code, "as the input says").into()
}

impl Drivers for Cloud {
    fn facts(&self, _: &ProviderName, _: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        Ok(DriverFacts {
            plugin: "sim".into(),
            capabilities: Capabilities {
                status: true,
                initialize: true,
                listing: true,
                volume_ids: true,
                idempotency_key: true,
                reboot: true,
                delete_by_id: true,
                node_id: false,
                placement: false,
                interruption: false,
                capacity: false,
            },
            consistency_window: SignedDuration::from_secs(5),
        })
    }

    fn create(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Creation>> {
        self.answer(move |cloud| {
            let waits = cloud
                .answers
                .get(cloud.calls % cloud.answers.len().max(1))
                .is_some_and(|it| it == "in-progress");
            let vm = cloud.make(&request);
            Ok(if waits {
                let ask_again = SignedDuration::from_secs(1);
                Creation::InProgress(InProgress {
                    resume_token: "t".into(),
                    ask_again,
                    message: "waits".into(),
                })
            } else {
                Creation::Created(vm)
            })
        })
    }

    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        self.get_status(request)
    }

    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Deletion>> {
        self.answer(move |cloud| {
            cloud.vms.remove(&request.machine.uid);
            Ok(Deletion::Deleted { last_known_state: None })
        })
    }

    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, DriverResult<Vm>> {
        self.answer(move |cloud| cloud.vm(&request).ok_or_else(|| failed(Code::NotFound)))
    }

    fn reboot(&self, _: MachineRequest) -> BoxFuture<'_, DriverResult<()>> {
        self.answer(|_| Ok(()))
    }

    fn delete_by_id(&self, request: MachineRequest, vm: ProviderId) -> BoxFuture<'_, DriverResult<()>> {
        self.answer(move |cloud| {
            let all = cloud.vms.entry(request.machine.uid.clone()).or_default();
            all.retain(|made| made.id != vm);
            Ok(())
        })
    }

    fn node_id(&self, _: MachineRequest, vm: Vm) -> BoxFuture<'_, DriverResult<ProviderId>> {
        self.answer(move |_| Ok(vm.provider_id))
    }

    fn place(&self, request: MachineRequest, _: FailureDomain) -> BoxFuture<'_, DriverResult<String>> {
        self.answer(move |_| Ok(request.class.spec))
    }

    fn is_interruptible(&self, _: MachineRequest) -> BoxFuture<'_, DriverResult<bool>> {
        self.answer(|_| Ok(false))
    }

    fn node_capacity(&self, _: ClassRequest) -> BoxFuture<'_, DriverResult<NodeResources>> {
        self.answer(|_| Ok(NodeResources::default()))
    }

    fn list(&self, _: ListRequest) -> BoxFuture<'_, DriverResult<Page>> {
        self.answer(|cloud| {
            let listed = |(uid, made): (&Uid, &Made)| Listed {
                provider_id: made.id.clone(),
                machine_name: made.name.as_str().into(),
                machine_uid: Some(uid.clone()),
                created_at: None,
            };
            let all = cloud.vms.iter().flat_map(|(uid, all)| all.iter().map(move |made| (uid, made)));
            Ok(Page { machines: all.map(listed).collect(), next: None })
        })
    }

    fn get_volume_ids(
        &self,
        _: ProviderName,
        _: Option<DriverDigest>,
        specs: Vec<String>,
    ) -> BoxFuture<'_, DriverResult<Vec<Option<String>>>> {
        self.answer(move |_| Ok(vec![None; specs.len()]))
    }

    fn validate_class(&self, _: ClassSpec) -> BoxFuture<'_, DriverResult<Vec<String>>> {
        self.answer(|_| Ok(Vec::new()))
    }
}
