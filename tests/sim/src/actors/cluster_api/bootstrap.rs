//! The bootstrap provider: Secrets with bootstrap data, early and late, written once and again.

use memory_api::ApiServer;
use serde_json::{Value, json};

use super::objects::{MACHINES, SECRETS, bootstrap_name, name_of};
use super::workload::WorkloadCluster;
use crate::rng::Rng;

/// A step towards the bootstrap data of a Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Writes the Secret with a token, or writes another token into it.
    Write,
    /// Writes the Secret without data.
    WriteEmpty,
    /// Says the name of the Secret on the Machine.
    Name,
    /// Nothing happens in this round.
    Wait,
}

/// How the bootstrap data of a Machine come about.
#[derive(Debug)]
pub(super) struct Bootstrap {
    /// The steps that are left, the last one first.
    left: Vec<Step>,
    /// The Secret is deleted once the VM is provided.
    is_deleted_after_use: bool,
    tokens: u64,
}

impl Bootstrap {
    pub(super) fn drawn(rng: &mut Rng) -> Self {
        use Step::{Name, Wait, Write, WriteEmpty};
        let ways: [(u32, &[Step]); 6] = [
            (6, &[Write, Name]),
            // The provider has died between the two, and begins again.
            (3, &[Write, Write, Name]),
            // Users name a Secret that comes later.
            (2, &[Name, Wait, Wait, Write]),
            (1, &[WriteEmpty, Name, Wait, Write]),
            // Somebody writes another token while the VM is being made.
            (3, &[Write, Name, Write, Write]),
            (2, &[Wait, Wait, Wait, Wait, Write, Name]),
        ];
        let way = rng.weighed(&ways).unwrap_or_default();
        Self { left: way.iter().rev().copied().collect(), is_deleted_after_use: rng.happens(0.3), tokens: 0 }
    }

    /// The VM has what it needs.
    pub(super) fn is_over(&self) -> bool {
        self.left.is_empty()
    }
}

impl WorkloadCluster {
    /// The next step for a Machine.
    pub(super) fn bootstrap(&mut self, api: &ApiServer, machine: &Value) {
        let name = name_of(machine).to_owned();
        let drawn = Bootstrap::drawn(&mut self.rng);
        let bootstrap = self.bootstraps.entry(name.clone()).or_insert(drawn);
        let Some(step) = bootstrap.left.pop() else { return };
        bootstrap.tokens += 1;
        let token = bootstrap.tokens;
        let path = self.path(&bootstrap_name(&name));
        match step {
            Step::Wait => {}
            Step::WriteEmpty => drop(api.create(SECRETS, &self.bootstrap_secret(&name, None))),
            Step::Write => {
                let secret = self.bootstrap_secret(&name, Some(token));
                if api.create(SECRETS, &secret).is_err() {
                    let _ = api.edit(SECRETS, &path, &json!({ "data": secret["data"] }));
                }
            }
            Step::Name => {
                let named = json!({ "spec": { "bootstrap": { "dataSecretName": bootstrap_name(&name) } } });
                let _ = api.edit(MACHINES, &self.path(&name), &named);
            }
        }
    }

    /// The VM of a Machine is provided: its Secret may go.
    pub(super) fn bootstrap_used(&mut self, api: &ApiServer, machine: &str) {
        let path = self.path(&bootstrap_name(machine));
        if let Some(bootstrap) = self.bootstraps.get_mut(machine)
            && bootstrap.is_over()
            && std::mem::take(&mut bootstrap.is_deleted_after_use)
        {
            let _ = api.delete(SECRETS, &path);
        }
    }
}
