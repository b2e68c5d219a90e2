//! Sets and deployments as the API server has them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use machinist_api::names::{annotations, finalizers, labels};
use memory_api::{Change, ORPHAN};
use serde_json::Value;

use super::super::facts::text;
use super::super::machine::MachineFact;
use super::past::Past;
use crate::names::HOST;

#[derive(Clone, Debug, Default)]
pub(crate) struct SetFact {
    pub(super) name: String,
    /// Uid of the deployment that controls it; empty without one.
    pub(super) deployment: String,
    pub(super) wanted: Past<usize>,
    /// When it was made to want fewer.
    pub(super) lowered_at: Option<Timestamp>,
    pub(super) frozen_since: Option<Timestamp>,
    /// Its label keeps it from making Machines: since when.
    pub(super) disabled_since: Option<Timestamp>,
    /// It names other classes for a cloud that has no capacity, which counts where no deployment controls it.
    pub(super) has_alternatives: bool,
    /// When the autoscaler lowered the number.
    pub(super) scaled_down_at: Option<Timestamp>,
    pub(super) deleting_since: Option<Timestamp>,
    /// Its Machines are to stay: since when.
    pub(super) leaves_since: Option<Timestamp>,
    /// When somebody who is no host has changed it, or whose its Machines are.
    pub(super) meddled_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct DeploymentFact {
    pub(super) name: String,
    /// Never more than so many Machines.
    pub(super) most: Past<usize>,
    /// Never fewer than so many that are available.
    pub(super) fewest: Past<usize>,
    /// All old ones go before others come.
    pub(super) recreates: Past<bool>,
    /// So many Machines may be taken away within so many minutes.
    pub(super) budget: Past<Option<(usize, i64)>>,
    /// How many Machines are wished.
    pub(super) desired: Past<usize>,
    /// When hosts have taken away Machines that were in service, and that nobody else had chosen.
    pub(super) disrupted: Vec<Timestamp>,
    /// It names other classes for a cloud that has no capacity.
    pub(super) has_alternatives: bool,
    pub(super) deleting_since: Option<Timestamp>,
    /// Its sets are to stay: since when.
    pub(super) leaves_since: Option<Timestamp>,
    /// When somebody who is no host has changed a set of it.
    pub(super) meddled_at: Option<Timestamp>,
    /// The time when a host wrote a number to a set after that: then the host has seen it. A host that waits for a
    /// crash, an outage or a freeze to end has not.
    seen_at: Option<Timestamp>,
}

#[derive(Debug, Default)]
pub(crate) struct OwnerFacts {
    pub(super) sets: BTreeMap<String, SetFact>,
    pub(super) deployments: BTreeMap<String, DeploymentFact>,
    /// Sets and deployments that are gone, by uid, and since when.
    pub(super) gone: BTreeMap<String, Timestamp>,
    /// Uid of the set and name of Machines that a host has ordered to go.
    pub(super) used_names: BTreeSet<(String, String)>,
    /// Machines that are gone and that no host took away while they were available: of which deployment, and when they
    /// ceased to be.
    pub(super) lost: Vec<(String, Timestamp)>,
}

impl OwnerFacts {
    /// The deployment of a set, or the set itself without one. Empty without a set.
    pub(in crate::check) fn family<'a>(&'a self, set: &'a str) -> &'a str {
        let deployment = self.sets.get(set).map(|set| set.deployment.as_str());
        deployment.filter(|uid| !uid.is_empty()).unwrap_or(set)
    }

    /// The set of this uid is being deleted.
    pub(crate) fn is_going(&self, set: &str) -> bool {
        self.sets.get(set).is_some_and(|set| set.deleting_since.is_some())
    }

    /// Takes over what a change of a set or deployment says.
    pub(in crate::check) fn learn(&mut self, change: &Change<'_>, now: Timestamp) {
        let uid = text(change.new.or(change.old), "/metadata/uid").to_owned();
        let is_host = change.actor.starts_with(HOST);
        match (change.plural, change.new) {
            ("machinesets", None) => {
                if let Some(set) = self.sets.remove(&uid) {
                    self.meddle(&set.deployment, is_host, now);
                }
                self.gone.insert(uid, now);
            }
            ("machinesets", Some(object)) => {
                let set = self.sets.entry(uid).or_default();
                let (is_known, before) = (!set.name.is_empty(), set.deployment.clone());
                let wanted = set.wanted.last();
                set.learn(object, is_host, now);
                let deployment = set.deployment.clone();
                let is_reported = is_host && set.wanted.last() != wanted;
                // A deployment that comes to a set has another number for it, and no part in what that has done before.
                let is_adopted = is_known && deployment != before;
                let is_meddled = set.meddled_at == Some(now) || is_adopted;
                self.meddle(&deployment, !is_meddled, now);
                if is_reported {
                    self.host_wrote(&deployment, now);
                }
            }
            ("machinedeployments", None) => {
                self.deployments.remove(&uid);
                self.gone.insert(uid, now);
            }
            ("machinedeployments", Some(object)) => {
                self.deployments.entry(uid).or_default().learn(object, now);
            }
            _ => {}
        }
    }

    /// A host takes a Machine away whose Node is there.
    fn disrupt(&mut self, machine: &MachineFact, now: Timestamp) {
        let set = self.sets.get(&machine.set).filter(|_| machine.is_disrupted());
        if let Some(deployment) = set.and_then(|set| self.deployments.get_mut(&set.deployment)) {
            deployment.disrupted.push(now);
        }
    }

    fn meddle(&mut self, deployment: &str, is_host: bool, now: Timestamp) {
        if !is_host && let Some(deployment) = self.deployments.get_mut(deployment) {
            deployment.meddled_at = Some(now);
            deployment.seen_at = None;
        }
    }

    /// A host tells a set of this deployment another number.
    fn host_wrote(&mut self, deployment: &str, now: Timestamp) {
        if let Some(deployment) = self.deployments.get_mut(deployment) {
            deployment.seen_at = deployment.seen_at.or(Some(now));
        }
    }

    /// Takes over what a change of a Machine says. `before` and `after` are what is known of it, and whether its Node
    /// is there.
    pub(in crate::check) fn learn_machine(
        &mut self,
        actor: &str,
        before: Option<&MachineFact>,
        (after, has_node): (Option<&MachineFact>, bool),
        now: Timestamp,
    ) {
        let is_host = actor.starts_with(HOST);
        if let (Some(before), None) = (before, after)
            && let Some(fell) = before.fell.filter(|_| !before.is_taken)
            && let Some(set) = self.sets.get(&before.set)
        {
            self.lost.push((set.deployment.clone(), fell));
        }
        let is_ordered_away = before.is_some_and(|before| before.deleting_since.is_none())
            && after.is_none_or(|after| after.deleting_since.is_some());
        if let Some(before) = before.filter(|_| is_host && is_ordered_away) {
            if before.has_ordinal {
                self.used_names.insert((before.set.clone(), before.name.clone()));
            }
            if has_node {
                self.disrupt(before, now);
            }
        }
        let (was, is) = (before.map(|one| &one.set), after.map(|one| &one.set));
        if is_host || was == is || after.is_none() {
            return;
        }
        for uid in [was, is].into_iter().flatten() {
            if let Some(set) = self.sets.get_mut(uid) {
                set.meddled_at = Some(now);
                let deployment = set.deployment.clone();
                self.meddle(&deployment, false, now);
            }
        }
    }
}

impl SetFact {
    fn learn(&mut self, object: &Value, is_host: bool, now: Timestamp) {
        let meta = &object["metadata"];
        let wanted = number(&object["spec"]["replicas"]);
        let since = |is: bool, before: Option<Timestamp>| is.then(|| before.unwrap_or(now));
        let is_new = self.name.is_empty();
        if !is_new && wanted < self.wanted.last() {
            self.lowered_at = Some(now);
        }
        let deployment = controller(object);
        let is_deleting = meta["deletionTimestamp"].is_string();
        let is_changed = wanted != self.wanted.last()
            || deployment != self.deployment
            || is_deleting != self.deleting_since.is_some();
        if !is_host && !is_new && is_changed {
            self.meddled_at = Some(now);
        }
        self.wanted.set(wanted, now);
        self.name = text(Some(object), "/metadata/name").to_owned();
        self.deployment = deployment;
        self.frozen_since = since(meta["labels"][labels::FREEZE] == labels::TRUE, self.frozen_since);
        self.disabled_since =
            since(!meta["labels"][labels::SCALE_UP_DISABLED].is_null(), self.disabled_since);
        self.has_alternatives = has_alternatives(object);
        self.scaled_down_at = meta["annotations"][annotations::REPLICA_CHANGE_BY_SCALER_TIME]
            .as_str()
            .and_then(|time| time.parse().ok());
        self.deleting_since = since(is_deleting, self.deleting_since);
        self.leaves_since = since(has_finalizer(object, ORPHAN), self.leaves_since);
    }
}

impl DeploymentFact {
    /// Whether others have changed a set of it and hosts need not have heard of that for longer than news take.
    pub(super) fn is_meddled(&self, now: Timestamp) -> bool {
        self.meddled_at.is_some()
            && self.seen_at.is_none_or(|heard| now.duration_since(heard) <= super::super::rules::PROPAGATION)
    }

    fn learn(&mut self, object: &Value, now: Timestamp) {
        let (most, fewest) = bounds(object);
        self.name = text(Some(object), "/metadata/name").to_owned();
        self.most.set(most, now);
        self.fewest.set(fewest, now);
        self.recreates.set(text(Some(object), "/spec/strategy/type") == "Recreate", now);
        self.budget.set(budget(object), now);
        self.desired.set(number(&object["spec"]["replicas"]), now);
        self.has_alternatives = has_alternatives(object);
        let since = |is: bool, before: Option<Timestamp>| is.then(|| before.unwrap_or(now));
        self.deleting_since = since(object["metadata"]["deletionTimestamp"].is_string(), self.deleting_since);
        self.leaves_since = since(has_finalizer(object, ORPHAN), self.leaves_since);
    }
}

/// Never more Machines than this, and never fewer that are available.
fn bounds(deployment: &Value) -> (usize, usize) {
    let desired = number(&deployment["spec"]["replicas"]);
    let strategy = &deployment["spec"]["strategy"];
    let shares = match strategy["type"].as_str() {
        Some("RollingUpdate") => &strategy["rollingUpdate"],
        Some("InPlaceUpdate") => &strategy["inPlaceUpdate"],
        _ => return (desired, 0),
    };
    if desired == 0 {
        return (0, 0);
    }
    let surge = share(&shares["maxSurge"], desired, true);
    let unavailable = match share(&shares["maxUnavailable"], desired, false) {
        0 if surge == 0 => 1,
        some => some,
    };
    (desired + surge, desired.saturating_sub(unavailable))
}

/// As the users of a run write it: so many in so many minutes or hours.
fn budget(deployment: &Value) -> Option<(usize, i64)> {
    let text = deployment["metadata"]["annotations"][annotations::DISRUPTION_BUDGET].as_str()?;
    let (machines, within) = text.split_once('/')?;
    let minutes = match (within.strip_suffix('m'), within.strip_suffix('h')) {
        (Some(minutes), _) => minutes.parse().ok()?,
        (None, hours) => hours?.parse::<i64>().ok()? * 60,
    };
    Some((machines.parse().ok()?, minutes))
}

fn share(value: &Value, of: usize, is_rounded_up: bool) -> usize {
    match value.as_str().and_then(|text| text.strip_suffix('%')?.parse::<usize>().ok()) {
        Some(percent) if is_rounded_up => (of * percent).div_ceil(100),
        Some(percent) => of * percent / 100,
        None => number(value),
    }
}

fn number(value: &Value) -> usize {
    value.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
}

/// The uid of the owner that controls an object; empty without one.
pub(in crate::check) fn controller(object: &Value) -> String {
    let mut owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let owner = owners.find(|owner| owner["controller"] == true);
    text(owner, "/uid").to_owned()
}

pub(super) fn has_finalizer(object: &Value, name: &str) -> bool {
    let all = object["metadata"]["finalizers"].as_array();
    all.is_some_and(|all| all.iter().any(|one| one == name))
}

/// Our own finalizer is on it.
pub(super) fn is_held(object: &Value) -> bool {
    has_finalizer(object, finalizers::MACHINE)
}

/// It names other classes for a cloud that has no capacity.
fn has_alternatives(object: &Value) -> bool {
    object["metadata"]["annotations"][annotations::CLASS_ALTERNATIVES].is_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bounds_are_what_strategy_and_number_say() {
        let of = |replicas: u64, strategy: Value| {
            bounds(&json!({ "spec": { "replicas": replicas, "strategy": strategy } }))
        };
        let rolling = |surge: Value, unavailable: Value| json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } });
        assert_eq!(of(3, rolling(json!(1), json!(0))), (4, 3));
        assert_eq!(of(3, rolling(json!("50%"), json!("50%"))), (5, 2));
        assert_eq!(of(3, rolling(json!(0), json!("10%"))), (3, 2));
        assert_eq!(of(0, rolling(json!(2), json!(1))), (0, 0));
        assert_eq!(of(3, json!({ "type": "Recreate" })), (3, 0));
    }
}
