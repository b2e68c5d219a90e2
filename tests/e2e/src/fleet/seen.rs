//! A Machine as its status shows it.

use kube::ResourceExt;
use machinist_api::{Machine, names};

/// A Machine as a watch shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub name: String,
    /// Its phase; empty before it has one.
    pub phase: String,
    /// Somebody has asked for its deletion.
    pub is_deleting: bool,
    /// The name of its class.
    pub class: String,
    /// The name of its set; empty without one.
    pub set: String,
    /// The name of its deployment, as its label says.
    pub deployment: String,
    /// The name of its Node; empty before it has one.
    pub node: String,
    /// The host's report about it.
    pub reason: String,
}

impl Seen {
    /// Alive, and in a phase in which a rollout counts on it.
    pub fn is_available(&self) -> bool {
        !self.is_deleting && ["Running", "Available"].contains(&self.phase.as_str())
    }

    /// The phase for people.
    pub fn shown_phase(&self) -> &str {
        match self.phase.as_str() {
            _ if self.is_deleting => "Deleting",
            "" => "Creating",
            phase => phase,
        }
    }
}

impl From<&Machine> for Seen {
    fn from(machine: &Machine) -> Self {
        let label = |key| machine.labels().get(key).cloned().unwrap_or_default();
        let owners = machine.owner_references();
        let set = owners.iter().find(|owner| owner.controller == Some(true));
        let own = machine.status.as_ref().and_then(|status| status.machinist.as_ref());
        let condition = own.and_then(|own| own.conditions.iter().find(|one| one.type_ == "Ready"));
        Self {
            name: machine.name_any(),
            phase: machine.phase().as_str().to_owned(),
            is_deleting: machine.metadata.deletion_timestamp.is_some(),
            class: machine.spec.class.name.clone().unwrap_or_default(),
            set: set.map(|owner| owner.name.clone()).unwrap_or_default(),
            deployment: label(names::labels::DEPLOYMENT),
            node: label(names::labels::NODE),
            reason: condition.map(|condition| condition.reason.clone()).unwrap_or_default(),
        }
    }
}
