//! MachineDeployments as node groups of cluster-autoscaler, from the caches, and the writes that it asks for.
//!
//! Questions are answered from the caches and cost no request. A write holds for the version of the MachineDeployment
//! that it was decided on; after a conflict it is decided again. The answer to a write is kept until the cache shows
//! it, so that the next question has the new size. Only a process that leads answers.
//!
//! | module | what it does |
//! | --- | --- |
//! | `writes` | changes sizes, and marks the Machines that are deleted |
//! | `groups` | the groups of a scope, their Machines, the group of a Node |
//! | `templates` | facts about the next Node of a group |
//! | `members` | the Machines of both APIs as members |
//! | `deployments` | the MachineDeployments of both APIs as one type, and those that were just written |
//! | `cluster_api` | copies of Cluster API's MachineDeployments and MachineSets |

mod cluster_api;
mod deployments;
mod groups;
mod members;
mod templates;
mod writes;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use machinist_core::autoscaler::group::{GroupId, Limits};
use machinist_core::autoscaler::member::{Instance, NamedNode};
use machinist_core::autoscaler::options::{Options, OwnOptions, apply};
use machinist_core::autoscaler::refusal::CallRefusal;
use machinist_core::autoscaler::template::{TemplateNode, template};
use machinist_core::driver::write_error::ActError;
use machinist_core::value::id::ObjectKey;

use crate::context::Context;
use crate::controllers::state::TenantState;

pub(crate) use cluster_api::ClusterApiFeeds;
use groups::Sources;

/// The MachineDeployments that one autoscaler sees: those whose Nodes join its cluster. It deletes Machines whose Nodes
/// it does not find there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Those of machine-controller-manager's kind, in the namespace of the Machines.
    pub mcm: bool,
    /// Those of these Clusters of Cluster API.
    pub clusters: BTreeSet<ObjectKey>,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clusters = self.clusters.iter().map(ToString::to_string);
        let all: Vec<String> = self.mcm.then(|| "mcm".to_owned()).into_iter().chain(clusters).collect();
        f.write_str(&all.join("+"))
    }
}

/// A call without an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("this process does not lead: another replica answers; connect again")]
    NotLeading,
    #[error("the caches are not complete: try again when the process is ready")]
    NotReady,
    #[error(transparent)]
    Refused(#[from] CallRefusal),
    #[error("others changed {id} or its Machines at the same time: try again")]
    Contended { id: GroupId },
    #[error("failed to write {what}")]
    Write {
        what: String,
        #[source]
        source: ActError,
    },
    #[error(
        "the API server has not answered in time: the change may have happened, and a repeat does no harm"
    )]
    Late,
}

/// A Node whose group is asked for.
#[derive(Clone, Debug)]
pub struct NodeQuery<'a> {
    pub node: NamedNode<'a>,
    /// The Machine that the Node's annotations name, as Cluster API writes them. It saves a search, and proves nothing.
    pub machine: Option<ObjectKey>,
}

/// A node group as the autoscaler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSummary {
    pub id: GroupId,
    pub limits: Limits,
    pub replicas: i32,
}

/// The node groups of a tenant. They are there once the tenant runs.
#[derive(Clone, Default)]
pub struct NodeGroups {
    sources: Arc<OnceLock<Sources>>,
    serves_clusters: bool,
}

impl NodeGroups {
    /// `serves_clusters` says whether any scope has a Cluster of Cluster API: only then its kinds are watched.
    pub fn new(serves_clusters: bool) -> Self {
        Self { sources: Arc::default(), serves_clusters }
    }

    pub(crate) fn serves_clusters(&self) -> bool {
        self.serves_clusters
    }

    /// Connects the caches of the first tenant of the process.
    pub(crate) fn connect(
        &self,
        tenant: TenantState,
        context: Arc<Context>,
        feeds: Option<&ClusterApiFeeds>,
    ) {
        let _ = self.sources.set(Sources::new(tenant, context, feeds.map(ClusterApiFeeds::reader)));
    }

    fn sources(&self) -> Result<&Sources, CallError> {
        let sources = self.sources.get().ok_or(CallError::NotReady)?;
        sources.check()?;
        Ok(sources)
    }

    /// Returns whether calls are answered.
    ///
    /// # Errors
    /// When this process does not lead, or its caches are not complete.
    pub fn check(&self) -> Result<(), CallError> {
        self.sources().map(|_| ())
    }

    /// Lists the groups of a scope, by id.
    ///
    /// # Errors
    /// For the same reasons as [`Self::check`].
    pub fn groups(&self, scope: &Scope) -> Result<Vec<GroupSummary>, CallError> {
        Ok(self.sources()?.groups(scope))
    }

    /// Returns the group of a Node. `None` if it is of no Machine of a group.
    ///
    /// # Errors
    /// For the same reasons as [`Self::check`].
    pub fn group_of_node(
        &self,
        scope: &Scope,
        query: &NodeQuery<'_>,
    ) -> Result<Option<GroupSummary>, CallError> {
        Ok(self.sources()?.group_of_node(scope, query))
    }

    /// Returns how many Machines a group wants.
    ///
    /// # Errors
    /// As [`Self::check`], and for an unknown group.
    pub fn target_size(&self, scope: &Scope, id: &str) -> Result<i32, CallError> {
        let sources = self.sources()?;
        Ok(sources.deployment(scope, &id.parse()?)?.0.replicas)
    }

    /// Lists the Machines of a group.
    ///
    /// # Errors
    /// As [`Self::check`], and for an unknown group.
    pub fn instances(&self, scope: &Scope, id: &str) -> Result<Vec<Instance>, CallError> {
        let sources = self.sources()?;
        let (_, group) = sources.group(scope, &id.parse()?)?;
        let now = sources.now();
        let instance = |member| group.is_counted(member, now);
        Ok(group.members.iter().map(|member| member.instance(&group.id, instance(member))).collect())
    }

    /// Raises the replicas of a group.
    ///
    /// # Errors
    /// As [`Self::check`], for an unknown group and a number that is not right, and when the write fails.
    pub async fn increase(&self, scope: &Scope, id: &str, delta: i32) -> Result<(), CallError> {
        let sources = self.sources()?;
        sources.resize(scope, &id.parse()?, |group, _| group.increase(delta)).await
    }

    /// Takes back a request for Machines without a VM. `delta` is negative.
    ///
    /// # Errors
    /// For the same reasons as [`Self::increase`].
    pub async fn decrease(&self, scope: &Scope, id: &str, delta: i32) -> Result<(), CallError> {
        let sources = self.sources()?;
        sources.resize(scope, &id.parse()?, |group, now| group.decrease(delta, now)).await
    }

    /// Has the Machines of these nodes deleted, and lowers the replicas by those that were not counted before. A repeat
    /// changes nothing.
    ///
    /// # Errors
    /// As [`Self::increase`], and for a node of another group.
    pub async fn delete(&self, scope: &Scope, id: &str, nodes: &[NamedNode<'_>]) -> Result<(), CallError> {
        let sources = self.sources()?;
        sources.delete(scope, &id.parse()?, nodes).await
    }

    /// Describes the next Node of a group.
    ///
    /// # Errors
    /// As [`Self::check`], for an unknown group, and where nothing describes the Node.
    pub fn template(&self, scope: &Scope, id: &str) -> Result<TemplateNode, CallError> {
        let sources = self.sources()?;
        let id = id.parse()?;
        let (deployment, _) = sources.deployment(scope, &id)?;
        Ok(template(&id, &templates::facts(&deployment, sources.classes(), sources.machine_templates()))?)
    }

    /// Applies the settings of a group to the autoscaler's own.
    ///
    /// # Errors
    /// As [`Self::check`], for an unknown group, and for one without settings.
    pub fn options(&self, scope: &Scope, id: &str, defaults: Options) -> Result<OwnOptions, CallError> {
        let id: GroupId = id.parse()?;
        let (deployment, _) = self.sources()?.deployment(scope, &id)?;
        let own = apply(&templates::settings(&deployment.annotations), defaults);
        Ok(own.ok_or(CallRefusal::NoOptions { id })?)
    }

    /// Returns the label of Nodes with GPUs.
    pub fn gpu_label(&self, scope: &Scope) -> &'static str {
        use machinist_api::infrastructure::autoscaler::labels;
        if scope.mcm { labels::GARDENER_GPU } else { labels::GPU }
    }
}

impl fmt::Debug for NodeGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeGroups")
    }
}
