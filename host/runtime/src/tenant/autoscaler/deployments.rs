//! The MachineDeployments of both APIs as one type, and those that were just written.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::core::ObjectMeta;
use machinist_api::MachineDeployment;
use machinist_api::infrastructure::node_groups::{OwnerDeployment, OwnerTemplate};
use machinist_api::template::MachineTemplate;
use machinist_core::autoscaler::group::{Api, GroupId};
use machinist_core::value::id::ObjectKey;

use crate::cache::is_later;

/// A MachineDeployment, as far as a node group needs it.
#[derive(Clone, Debug)]
pub(super) struct GroupDeployment {
    pub(super) id: GroupId,
    /// The Cluster of Cluster API that it is of.
    pub(super) cluster: Option<ObjectKey>,
    pub(super) uid: String,
    pub(super) version: String,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) replicas: i32,
    pub(super) is_terminating: bool,
    pub(super) template: Template,
}

#[derive(Clone, Debug)]
pub(super) enum Template {
    Mcm(Box<MachineTemplate>),
    Capi(Box<OwnerTemplate>),
}

impl GroupDeployment {
    fn of(api: Api, meta: &ObjectMeta, replicas: Option<i32>, template: Template) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let deployment = ObjectKey::new(text(&meta.namespace), text(&meta.name));
        Self {
            id: GroupId { api, deployment },
            cluster: None,
            uid: text(&meta.uid),
            version: text(&meta.resource_version),
            annotations: meta.annotations.clone().unwrap_or_default(),
            replicas: replicas.unwrap_or_default(),
            is_terminating: meta.deletion_timestamp.is_some(),
            template,
        }
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.get(name).map(String::as_str)
    }
}

impl From<&MachineDeployment> for GroupDeployment {
    fn from(object: &MachineDeployment) -> Self {
        let template = Template::Mcm(Box::new(object.spec.template.clone()));
        Self::of(Api::Mcm, &object.metadata, object.spec.replicas, template)
    }
}

impl From<&OwnerDeployment> for GroupDeployment {
    fn from(object: &OwnerDeployment) -> Self {
        let template = Template::Capi(Box::new(object.spec.template.clone()));
        let deployment = Self::of(Api::Capi, &object.metadata, object.spec.replicas, template);
        let namespace = deployment.id.deployment.namespace.clone();
        let cluster = object.cluster().map(|name| ObjectKey::new(namespace.as_str(), name));
        Self { cluster, ..deployment }
    }
}

/// MachineDeployments as the API server answered last, until the caches show that or a later version.
#[derive(Debug, Default)]
pub(super) struct LatestAnswers(Mutex<BTreeMap<GroupId, GroupDeployment>>);

impl LatestAnswers {
    /// Remembers an answer of the API server.
    pub(super) fn add(&self, deployment: GroupDeployment) {
        self.lock().insert(deployment.id.clone(), deployment);
    }

    /// Returns the later one of a cached MachineDeployment and the answer about it.
    pub(super) fn later(&self, cached: GroupDeployment) -> GroupDeployment {
        let mut answers = self.lock();
        let Some(answer) = answers.get(&cached.id) else { return cached };
        if answer.uid == cached.uid && is_later(&answer.version, &cached.version) {
            return answer.clone();
        }
        answers.remove(&cached.id);
        cached
    }

    /// A panic of another holder leaves an answer too many or too few, and later ones correct it.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<GroupId, GroupDeployment>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(uid: &str, version: &str, replicas: i32) -> GroupDeployment {
        let metadata = json!({ "name": "a", "namespace": "n", "uid": uid, "resourceVersion": version });
        let object = json!({ "metadata": metadata, "spec": { "replicas": replicas } });
        GroupDeployment::from(&serde_json::from_value::<MachineDeployment>(object).unwrap())
    }

    #[test]
    fn an_answer_counts_until_the_cache_has_it() {
        let answers = LatestAnswers::default();
        let replicas =
            |uid: &str, version: &str, replicas| answers.later(deployment(uid, version, replicas)).replicas;
        assert_eq!(replicas("u", "8", 1), 1);
        answers.add(deployment("u", "10", 2));
        assert_eq!(replicas("u", "9", 1), 2);
        assert_eq!(replicas("u", "10", 2), 2);
        assert_eq!(replicas("u", "9", 1), 1, "it is forgotten");
        answers.add(deployment("u", "12", 3));
        assert_eq!(replicas("v", "11", 4), 4, "another object of that name");
    }

    #[test]
    fn the_cluster_of_a_deployment_is_in_its_namespace() {
        let object =
            json!({ "metadata": { "name": "md", "namespace": "team" }, "spec": { "clusterName": "c" } });
        let deployment = GroupDeployment::from(&serde_json::from_value::<OwnerDeployment>(object).unwrap());
        assert_eq!(deployment.cluster, Some(ObjectKey::new("team", "c")));
        assert_eq!(deployment.id.to_string(), "capi/team/md");
    }
}
