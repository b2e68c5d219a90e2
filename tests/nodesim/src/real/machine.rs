//! One VM: its kubelet is started, and started again when it ends, as systemd would.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use control_plane::{Kubelet, KubeletOptions};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::{States, kubelet_of};
use crate::source::VmSource;
use crate::vm::Vm;

/// The first pause before a kubelet is started again; it doubles with each further failure.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// A kubelet that ran for so long starts with the first pause again.
const WELL: Duration = Duration::from_secs(30);
/// How often a kubelet is asked whether it still runs.
const PACE: Duration = Duration::from_millis(200);

pub(super) struct Machine {
    binary: PathBuf,
    source: Arc<dyn VmSource>,
    states: Arc<States>,
    /// The VM at its latest boot.
    vm: watch::Receiver<Vm>,
    /// From the user data, which is read at the first boot.
    options: Option<KubeletOptions>,
    kubelet: Option<Kubelet>,
}

impl Machine {
    pub(super) fn new(
        binary: PathBuf,
        source: Arc<dyn VmSource>,
        states: Arc<States>,
        vm: watch::Receiver<Vm>,
    ) -> Self {
        Self { binary, source, states, vm, options: None, kubelet: None }
    }

    /// Keeps the kubelet running until this is dropped.
    pub(super) async fn run(mut self) {
        let mut failures = 0;
        loop {
            let vm = self.vm.borrow_and_update().clone();
            let began = Instant::now();
            let failure = match self.start(&vm).await {
                Ok(()) => tokio::select! {
                    failure = ended(self.kubelet.as_mut()) => Some(failure),
                    _ = self.vm.changed() => None,
                },
                Err(error) => Some(format!("{error:#}")),
            };
            let Some(failure) = failure else {
                failures = 0;
                continue;
            };
            tracing::debug!(vm = vm.id, failure, "a kubelet does not run");
            self.states.note(&vm.id, |state| {
                state.pid = None;
                state.last_failure = Some(failure);
            });
            failures = if began.elapsed() > WELL { 1 } else { failures + 1 };
            tokio::select! {
                () = sleep(pause(failures)) => {}
                _ = self.vm.changed() => failures = 0,
            }
        }
    }

    async fn start(&mut self, vm: &Vm) -> anyhow::Result<()> {
        let options = match &mut self.options {
            Some(options) => options,
            none => none.insert(kubelet_of(vm, &self.source.user_data(vm).await?)?),
        };
        options.machine.boot_id.clone_from(&vm.boot_id);
        match &mut self.kubelet {
            Some(kubelet) => kubelet.restart(options)?,
            none => *none = Some(Kubelet::start(&self.binary, options)?),
        }
        let pid = self.kubelet.as_ref().map(Kubelet::pid);
        self.states.note(&vm.id, |state| {
            state.node_name.clone_from(&options.node_name);
            state.pid = pid;
            state.starts += 1;
        });
        Ok(())
    }
}

/// Returns when the kubelet has ended: how.
async fn ended(mut kubelet: Option<&mut Kubelet>) -> String {
    loop {
        match kubelet.as_mut().map(|kubelet| kubelet.ensure_running()) {
            Some(Ok(())) => sleep(PACE).await,
            Some(Err(error)) => return format!("{error:#}"),
            None => return "it was not started".to_owned(),
        }
    }
}

fn pause(failures: u32) -> Duration {
    let doubled = PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16));
    doubled.min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        assert_eq!([1, 2, 3].map(pause), [PAUSE, PAUSE * 2, PAUSE * 4]);
        assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
    }
}
