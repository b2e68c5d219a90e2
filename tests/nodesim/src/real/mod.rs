//! A real kubelet for each VM, started out of the VM's user data and nothing else.
//!
//! | module | content |
//! | --- | --- |
//! | `boot` | from the user data of a VM to its kubelet, and user data for that |
//! | `cloud_init` | the parts of cloud-init that this needs |
//! | `machine` | one VM: its kubelet is started, and started again when it ends |

mod boot;
mod cloud_init;
mod machine;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};

use crate::source::{VmEvent, VmSource};
use crate::vm::Vm;
use machine::Machine;

pub use boot::{joining_user_data, kubelet_of};

/// Events that wait to be heard.
const EVENTS_AHEAD: usize = 1024;
/// How long the machines may take to end where much else runs. A kubelet that is left then ends with this process.
const GRACE: Duration = Duration::from_secs(30);

/// Real kubelets of the VMs of a cloud. They end when it is dropped, without a word to the API server.
///
/// A kubelet's disk is there as long as its VM: a kubelet that ends is started again, after a while, and so is the one
/// of a VM that is rebooted, both with the certificate that it got before.
pub struct RealKubelets {
    states: Arc<States>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The kubelet of one VM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeletState {
    /// The name of its Node; that of the VM until the user data was read.
    pub node_name: String,
    /// Its process, while it runs.
    pub pid: Option<u32>,
    /// How often it was started.
    pub starts: u32,
    /// Why it did not start, or how it ended, last time.
    pub last_failure: Option<String>,
}

/// The kubelets by the ids of their VMs.
#[derive(Default)]
struct States(Mutex<BTreeMap<String, KubeletState>>);

impl States {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, KubeletState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, vm_id: &str, note: impl FnOnce(&mut KubeletState)) {
        if let Some(state) = self.lock().get_mut(vm_id) {
            note(state);
        }
    }
}

impl RealKubelets {
    /// Starts the kubelets of the VMs that the source tells of. Builds the program first if nobody has: call it from a
    /// blocking thread.
    pub fn start(source: Arc<dyn VmSource>) -> anyhow::Result<Self> {
        let binary = control_plane::build::kubelet()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("real-kubelets")
            .enable_all()
            .build()
            .context("failed to start the threads of the kubelets")?;
        let states = Arc::new(States::default());
        let (stop, stopped) = oneshot::channel();
        let mut site = Site {
            binary,
            source,
            states: Arc::clone(&states),
            machines: BTreeMap::new(),
            running: JoinSet::new(),
        };
        let thread = std::thread::Builder::new()
            .name("real-kubelets".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = site.run() => {}
                        _ = stopped => {}
                    }
                    // Each kubelet is dead and its folder removed when this returns.
                    tokio::time::timeout(GRACE, site.running.shutdown()).await.ok();
                });
            })
            .context("failed to start the thread of the kubelets")?;
        Ok(Self { states, stop: Some(stop), thread: Some(thread) })
    }

    /// The kubelets of the VMs that run, by the ids of the VMs.
    pub fn states(&self) -> BTreeMap<String, KubeletState> {
        self.states.lock().clone()
    }
}

impl Drop for RealKubelets {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// The machines of a cloud.
struct Site {
    binary: PathBuf,
    source: Arc<dyn VmSource>,
    states: Arc<States>,
    machines: BTreeMap<String, (watch::Sender<Vm>, AbortHandle)>,
    /// The machines, and the task that follows their cloud.
    running: JoinSet<()>,
}

impl Site {
    async fn run(&mut self) {
        let (events, mut received) = mpsc::channel(EVENTS_AHEAD);
        self.running.spawn(Arc::clone(&self.source).follow(events));
        while let Some(event) = received.recv().await {
            match event {
                VmEvent::All(vms) => {
                    let gone = self.machines.keys().filter(|id| vms.iter().all(|vm| vm.id != **id));
                    for id in gone.cloned().collect::<Vec<_>>() {
                        self.end(&id);
                    }
                    for vm in vms {
                        self.runs(vm);
                    }
                }
                VmEvent::Runs(vm) | VmEvent::Rebooted(vm) => self.runs(vm),
                VmEvent::Ended(id) => self.end(&id),
            }
        }
    }

    /// Starts a machine, or boots it again if this is another boot.
    fn runs(&mut self, vm: Vm) {
        if let Some((boots, _)) = self.machines.get(&vm.id) {
            boots.send_if_modified(|known| {
                let is_other = known.boot_id != vm.boot_id;
                *known = vm;
                is_other
            });
            return;
        }
        let id = vm.id.clone();
        let state = KubeletState { node_name: vm.node_name.clone(), ..KubeletState::default() };
        self.states.lock().insert(id.clone(), state);
        let (boots, current) = watch::channel(vm);
        let machine =
            Machine::new(self.binary.clone(), Arc::clone(&self.source), Arc::clone(&self.states), current);
        self.machines.insert(id, (boots, self.running.spawn(machine.run())));
    }

    /// Cuts the power of a machine.
    fn end(&mut self, id: &str) {
        if let Some((_, machine)) = self.machines.remove(id) {
            machine.abort();
        }
        self.states.lock().remove(id);
    }
}

#[cfg(test)]
mod tests {
    use crate::vm::Vm;

    pub(super) fn vm() -> Vm {
        Vm {
            id: "vm-7".to_owned(),
            node_name: "node-1".to_owned(),
            provider_id: "sim:///zone-a/vm-7".to_owned(),
            region: "region-1".to_owned(),
            zone: "zone-a".to_owned(),
            instance_type: "large".to_owned(),
            cpus: 4,
            memory_gib: 8,
            gpus: 0,
            addresses: Vec::new(),
            boot_id: "vm-7-1".to_owned(),
        }
    }
}
