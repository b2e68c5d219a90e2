//! Facts of a MachinistMachineTemplate's reconcile.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinist_api::MachineClass;
use machinist_api::infrastructure::cluster_api;
use machinist_api::infrastructure::names::labels;
use machinist_api::infrastructure::{self, IdentityReference, MachinistMachineTemplate};
use machinist_core::driver::{Architecture, ClassSpec, NodeResources};
use machinist_core::infra_template::InfraTemplateView;
use machinist_core::machine::{ClassFact, DriverFact};
use machinist_core::value::id::{ClassName, ObjectKey};

use super::class_fact;
use super::infra_machine::identity::{self, NamedIdentity};
use super::infra_machine::observe::{Credentials, CredentialsFound};
use crate::cache::fields::secret_keys;
use crate::controllers::objects::metadata::label;
use crate::controllers::state::TenantState;
use crate::driver_calls::driver_choice::{DriverChoice, class_spec, inline_spec};

/// A template, and the objects that its machines depend on.
pub(crate) struct TemplateObjects {
    pub(crate) key: ObjectKey,
    pub(crate) template: Arc<MachinistMachineTemplate>,
    class: Option<Arc<MachineClass>>,
    /// The credentials that its machines name, or their cluster.
    identity: Option<IdentityReference>,
    choice: DriverChoice,
}

/// The facts of a reconcile, and the objects that they were taken from.
pub(crate) struct ObservedTemplate {
    pub(crate) view: InfraTemplateView,
    pub(crate) template: Arc<MachinistMachineTemplate>,
    pub(crate) class: ClassSpec,
    pub(crate) credentials: CredentialsFound,
}

impl TemplateObjects {
    /// `None` when the template is not there any more.
    pub(crate) fn of(tenant: &TenantState, key: &ObjectKey) -> Option<Self> {
        let infra = &tenant.infra;
        let template = infra.templates.get(key)?;
        let (meta, spec) = (&template.metadata, &template.spec.template.spec);
        let namespace = key.namespace.as_str();
        let owner = cluster_api::owner(meta, "Cluster").map(|(name, _)| name);
        let of_cluster = || {
            let name = owner.or_else(|| label(meta, labels::CLUSTER_NAME))?;
            let cluster = infra.owner_clusters.get(&ObjectKey::new(namespace, name))?;
            let name = cluster.spec.infrastructure_ref.named(infrastructure::GROUP, "MachinistCluster")?;
            infra.clusters.get(&ObjectKey::new(namespace, name))?.spec.identity_ref.clone()
        };
        let identity = spec.identity_ref.clone().or_else(of_cluster);
        let class_name = spec.class_ref.as_ref().map(|class| class.name.as_str());
        let class = class_name.and_then(|name| tenant.classes.get(&ObjectKey::new(namespace, name)));
        let choice = match (&spec.class_ref, &spec.provider) {
            (None, Some(provider)) => DriverChoice::of_provider(provider),
            _ => DriverChoice::of(class.as_deref()),
        };
        Some(Self { key: key.clone(), class, identity, choice, template })
    }

    /// Returns whether the labels of its namespace decide about its credentials.
    pub(crate) fn needs_namespace_labels(&self, tenant: &TenantState) -> bool {
        let find = |name: &str| tenant.infra.identities.get(&ObjectKey::new("", name));
        self.identity.as_ref().is_some_and(|reference| identity::needs_labels(reference, &find))
    }

    /// The credentials of its machines.
    pub(crate) fn identity(&self, tenant: &TenantState, labels: &BTreeMap<String, String>) -> NamedIdentity {
        let find = |name: &str| tenant.infra.identities.get(&ObjectKey::new("", name));
        let namespace = self.key.namespace.as_str();
        match &self.identity {
            Some(reference) => identity::named(reference, namespace, labels, &find),
            None => identity::of_class(self.class.as_deref().map(secret_keys).unwrap_or_default(), namespace),
        }
    }

    /// The driver, as it is there.
    pub(crate) fn driver(&self, tenant: &TenantState) -> DriverFact {
        match (&self.class, &self.template.spec.template.spec.provider) {
            (None, None) => DriverFact::NotChosen,
            _ => self.choice.fact(&*tenant.drivers),
        }
    }

    pub(crate) fn observe(
        self,
        tenant: &TenantState,
        driver: DriverFact,
        credentials: Option<Credentials>,
    ) -> ObservedTemplate {
        let spec = &self.template.spec.template.spec;
        let name = format!("MachinistMachine/{}", self.key.name);
        let (fact, class) = match &spec.class_ref {
            Some(class) => {
                let key = ObjectKey::new(self.key.namespace.as_str(), &class.name);
                let fact = class_fact(tenant, &key, self.class.as_deref(), &self.choice);
                (fact, class_spec(self.class.as_deref(), &self.choice, &driver))
            }
            // The name of the class that machines of this template are for themselves.
            None => (
                ClassFact::Ready(ClassName::new(name.as_str())),
                inline_spec(&name, spec.provider_spec.as_ref(), &self.choice, &driver),
            ),
        };
        let credentials = CredentialsFound::of(tenant, credentials, &class.name, &driver);
        let view = InfraTemplateView {
            is_deleting: self.template.metadata.deletion_timestamp.is_some(),
            class: fact,
            identity: credentials.fact.clone(),
            stored: stored(&self.template),
            driver,
        };
        ObservedTemplate { view, template: self.template, class, credentials }
    }
}

fn stored(template: &MachinistMachineTemplate) -> NodeResources {
    let status = template.status.clone().unwrap_or_default();
    let info = status.node_info.unwrap_or_default();
    let known = |word: &String| Architecture::ALL.into_iter().find(|known| known.as_str() == word);
    NodeResources {
        resources: status.capacity.into_iter().map(|(name, is)| (name, is.0)).collect(),
        architecture: info.architecture.as_ref().and_then(known),
        operating_system: info.operating_system,
    }
}
