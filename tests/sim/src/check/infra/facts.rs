//! MachinistMachines and their Clusters as the API servers have them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use machinist_api::infrastructure::names::{annotations, finalizers, labels};
use memory_api::Change;
use serde_json::Value;

use super::super::facts::text;
use crate::names::Site;

/// An object of a management cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) site: Site,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// A MachinistMachine as its API server has it.
#[derive(Clone, Debug)]
pub(crate) struct InfraFact {
    pub(crate) name: String,
    /// The key of its VM: its uid, until another one is stored.
    pub(crate) key: String,
    pub(crate) provider_id: String,
    pub(crate) is_deleting: bool,
    cluster: String,
    made: Timestamp,
    /// It is paused itself: since when.
    paused: Option<Timestamp>,
    /// It has moved away: since when.
    moved: Option<Timestamp>,
}

/// MachinistMachines, and what pauses them.
#[derive(Debug, Default)]
pub(crate) struct InfraFacts {
    pub(crate) machines: BTreeMap<Place, InfraFact>,
    /// Clusters that are paused, and since when.
    paused: BTreeMap<Place, Timestamp>,
    /// Keys of MachinistMachines that are gone, and since when nothing may be done for them there.
    gone: BTreeMap<(Site, String), Timestamp>,
}

impl Place {
    pub(crate) fn new(site: Site, namespace: &str, name: &str) -> Self {
        Self { site, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl InfraFacts {
    /// Takes over what a change says.
    pub(crate) fn learn(&mut self, site: Site, change: &Change<'_>, now: Timestamp) {
        let any = change.new.or(change.old);
        let place = Place::new(site, text(any, "/metadata/namespace"), text(any, "/metadata/name"));
        match change.plural {
            "machinistmachines" => self.machine(place, change.new, now),
            "clusters.cluster.x-k8s.io" => {
                if change.new.is_some_and(|cluster| cluster["spec"]["paused"] == true) {
                    self.paused.entry(place).or_insert(now);
                } else {
                    self.paused.remove(&place);
                }
            }
            _ => {}
        }
    }

    fn machine(&mut self, place: Place, machine: Option<&Value>, now: Timestamp) {
        let before = self.machines.get(&place);
        let Some(machine) = machine else {
            if let Some(gone) = self.machines.remove(&place) {
                self.gone.insert((place.site, gone.key), gone.moved.unwrap_or(now));
            }
            return;
        };
        let fact = InfraFact::learn(machine, before, now);
        self.gone.remove(&(place.site, fact.key.clone()));
        self.machines.insert(place, fact);
    }

    /// Since when nothing may be done for this object, and why.
    pub(crate) fn untouchable(&self, place: &Place, key: &str) -> Option<(Timestamp, &'static str)> {
        let Some(fact) = self.machines.get(place).filter(|fact| fact.key == key) else {
            return self.gone.get(&(place.site, key.to_owned())).map(|since| (*since, "is gone"));
        };
        let cluster = Place { name: fact.cluster.clone(), ..place.clone() };
        let with_cluster = self.paused.get(&cluster).map(|since| (*since).max(fact.made));
        let causes = [
            (fact.moved, "has moved"),
            (fact.paused, "is paused"),
            (with_cluster, "is paused with its Cluster"),
        ];
        causes.into_iter().filter_map(|(since, why)| Some((since?, why))).min()
    }

    /// The MachinistMachines with this key, in both management clusters.
    pub(crate) fn of_key(&self, key: &str) -> impl Iterator<Item = &InfraFact> {
        self.machines.values().filter(move |machine| machine.key == key)
    }
}

impl InfraFact {
    fn learn(machine: &Value, before: Option<&Self>, now: Timestamp) -> Self {
        let object = Some(machine);
        let annotation = |name: &str| machine["metadata"]["annotations"][name].as_str();
        let since = |is: bool, before: Option<Timestamp>| is.then(|| before.unwrap_or(now));
        let uid = text(object, "/metadata/uid");
        Self {
            name: text(object, "/metadata/name").to_owned(),
            key: annotation(annotations::MACHINE_KEY).unwrap_or(uid).to_owned(),
            provider_id: text(object, "/spec/providerID").to_owned(),
            is_deleting: machine["metadata"]["deletionTimestamp"].is_string(),
            cluster: machine["metadata"]["labels"][labels::CLUSTER_NAME]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            made: before.map_or(now, |before| before.made),
            paused: since(annotation(annotations::PAUSED).is_some(), before.and_then(|before| before.paused)),
            moved: since(
                annotation(annotations::DELETE_FOR_MOVE).is_some(),
                before.and_then(|before| before.moved),
            ),
        }
    }
}

/// Its status says that its VM was provided.
pub(super) fn is_provisioned(machine: &Value) -> bool {
    machine["status"]["initialization"]["provisioned"] == true
}

/// The host's finalizer holds it.
pub(super) fn is_held(machine: &Value) -> bool {
    let finalizers = machine["metadata"]["finalizers"].as_array();
    finalizers.is_some_and(|all| all.iter().any(|name| name == finalizers::MACHINE))
}
