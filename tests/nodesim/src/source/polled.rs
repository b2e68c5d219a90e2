//! The VMs of a cloud that is asked again and again which of them run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::{VmEvent, VmSource};
use crate::vm::Vm;

const PACE: Duration = Duration::from_millis(250);

/// A cloud that can be asked which VMs run.
pub trait Polled: Send + Sync + 'static {
    /// All VMs that run.
    fn running(&self) -> BoxFuture<'_, anyhow::Result<Vec<Vm>>>;

    /// The user data that the VM got, decoded as the VM sees it.
    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, anyhow::Result<Vec<u8>>>;
}

/// Asks such a cloud four times a second.
#[derive(Clone, Debug)]
pub struct PolledSource<P>(pub P);

/// The VMs that ran when the cloud was asked last, by id.
type Running = BTreeMap<String, Vm>;

/// The events between two looks.
fn changes(known: &Running, now: &Running) -> Vec<VmEvent> {
    let ended = known.keys().filter(|id| !now.contains_key(*id)).cloned().map(VmEvent::Ended);
    let new = now.iter().filter_map(|(id, vm)| match known.get(id) {
        None => Some(VmEvent::Runs(vm.clone())),
        Some(before) if before.boot_id != vm.boot_id => Some(VmEvent::Rebooted(vm.clone())),
        Some(_) => None,
    });
    ended.chain(new).collect()
}

impl<P: Polled> VmSource for PolledSource<P> {
    fn follow(self: Arc<Self>, events: mpsc::Sender<VmEvent>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let mut known: Option<Running> = None;
            while !events.is_closed() {
                match self.0.running().await {
                    Ok(running) => {
                        let now: Running = running.into_iter().map(|vm| (vm.id.clone(), vm)).collect();
                        let news = match &known {
                            None => vec![VmEvent::All(now.values().cloned().collect())],
                            Some(known) => changes(known, &now),
                        };
                        for event in news {
                            if events.send(event).await.is_err() {
                                return;
                            }
                        }
                        known = Some(now);
                    }
                    Err(error) => {
                        tracing::debug!(error = format!("{error:#}"), "the cloud could not be asked");
                    }
                }
                tokio::time::sleep(PACE).await;
            }
        })
    }

    fn user_data<'a>(&'a self, vm: &'a Vm) -> BoxFuture<'a, anyhow::Result<Vec<u8>>> {
        self.0.user_data(vm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vm(id: &str, boot: &str) -> (String, Vm) {
        let vm = Vm {
            id: id.to_owned(),
            node_name: id.to_owned(),
            provider_id: format!("x:///{id}"),
            region: String::new(),
            zone: String::new(),
            instance_type: String::new(),
            cpus: 1,
            memory_gib: 1,
            gpus: 0,
            addresses: Vec::new(),
            boot_id: boot.to_owned(),
        };
        (id.to_owned(), vm)
    }

    #[test]
    fn a_look_tells_which_vms_are_new_rebooted_and_gone() {
        let before = Running::from([vm("a", "1"), vm("b", "1"), vm("c", "1")]);
        let after = Running::from([vm("b", "1"), vm("c", "2"), vm("d", "1")]);
        let reported = changes(&before, &after);
        assert!(
            matches!(&reported[..], [VmEvent::Ended(a), VmEvent::Rebooted(c), VmEvent::Runs(d)]
                if a == "a" && c.id == "c" && d.id == "d"),
            "{reported:?}"
        );
    }
}
