//! Which credentials objects for Cluster API use: these stay until the last of the objects is gone.

use std::collections::BTreeMap;

use machinist_api::infrastructure::names::finalizers;
use machinist_api::infrastructure::{
    IdentityReference, MachinistCluster, MachinistIdentity, MachinistMachine,
};
use machinist_core::scheduling::queue::Priority;
use machinist_core::value::id::ObjectKey;

use super::{Engine, Key, Kind};
use crate::cache::{Change, Groups};
use crate::controllers::facts::infra_machine::related::RelatedObjects;
use crate::controllers::infra_identity::IdentityUsers;
use crate::message::CredentialsSeen;

/// Users that a message names.
const NAMED: usize = 3;

/// Credentials as an object names them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    Secret(ObjectKey),
    Identity(ObjectKey),
}

/// A user of credentials: kind and key.
type User = (&'static str, ObjectKey);

const MACHINE: &str = "MachinistMachine";
const CLUSTER: &str = "MachinistCluster";

/// Objects by the credentials that they name, or that are noted with their keys, while they have our finalizer.
/// Follows the caches.
#[derive(Debug, Default)]
pub(super) struct IdentityIndex {
    users: Groups<Named, User>,
    /// Secrets in use, as they were read last.
    seen: BTreeMap<ObjectKey, CredentialsSeen>,
}

impl Named {
    /// `None` for a kind that nobody knows.
    fn of(reference: &IdentityReference, namespace: &str) -> Option<Self> {
        match reference.kind.as_str() {
            "Secret" => Some(Self::Secret(ObjectKey::new(namespace, &reference.name))),
            "MachinistIdentity" => Some(Self::Identity(ObjectKey::new("", &reference.name))),
            _ => None,
        }
    }
}

fn has(finalizers: Option<&Vec<String>>, finalizer: &str) -> bool {
    finalizers.into_iter().flatten().any(|name| name == finalizer)
}

fn of_machine(machine: Option<&MachinistMachine>) -> Option<Named> {
    let machine = machine.filter(|one| has(one.metadata.finalizers.as_ref(), finalizers::MACHINE))?;
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    Named::of(&machine.identity(None)?, namespace)
}

fn of_cluster(cluster: Option<&MachinistCluster>) -> Option<Named> {
    let cluster = cluster.filter(|one| has(one.metadata.finalizers.as_ref(), finalizers::CLUSTER))?;
    let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
    Named::of(cluster.spec.identity_ref.as_ref()?, namespace)
}

fn secret_of(identity: &MachinistIdentity) -> ObjectKey {
    let secret = &identity.spec.secret_ref;
    ObjectKey::new(secret.namespace.as_str(), &secret.name)
}

impl Engine {
    pub(super) fn machine_uses_identity(&mut self, change: &Change<MachinistMachine>) {
        let (old, new) = (of_machine(change.old.as_deref()), of_machine(change.new.as_deref()));
        self.user_changed(&(MACHINE, change.key.clone()), old, new);
    }

    pub(super) fn cluster_uses_identity(&mut self, change: &Change<MachinistCluster>) {
        let (old, new) = (of_cluster(change.old.as_deref()), of_cluster(change.new.as_deref()));
        self.user_changed(&(CLUSTER, change.key.clone()), old, new);
    }

    /// The identity itself, and the Secrets that it named and names.
    pub(super) fn identity_changed(&mut self, change: &Change<MachinistIdentity>) {
        let secret =
            |identity: &Option<std::sync::Arc<MachinistIdentity>>| identity.as_deref().map(secret_of);
        let (old, new) = (secret(&change.old), secret(&change.new));
        if old != new {
            for secret in [old, new].into_iter().flatten() {
                self.wake(Key::InfraSecret(secret), Priority::Event);
            }
        }
        self.object_changed(Key::InfraIdentity(change.key.clone()), change, |old, new| old.spec != new.spec);
    }

    /// Only the first and the last user change anything.
    fn user_changed(&mut self, user: &User, old: Option<Named>, new: Option<Named>) {
        if old == new {
            return;
        }
        self.identities.users.change(user, old.clone(), new.clone());
        let (left, came) = (old.filter(|left| self.identities.users.count(left) == 0), new);
        let came = came.filter(|came| self.identities.users.count(came) == 1);
        for named in [left, came].into_iter().flatten() {
            match named {
                Named::Secret(secret) => self.wake(Key::InfraSecret(secret), Priority::Event),
                Named::Identity(identity) => {
                    if let Some(identity) = self.tenant.infra.identities.get(&identity) {
                        self.wake(Key::InfraSecret(secret_of(&identity)), Priority::Event);
                        self.wake(
                            Key::InfraIdentity(ObjectKey::new(
                                "",
                                identity.metadata.name.as_deref().unwrap_or_default(),
                            )),
                            Priority::Event,
                        );
                    }
                }
            }
        }
    }

    /// A reconcile has read credentials. A machine that misses them lets the Secret be read: one reconcile tells all.
    pub(super) fn credentials_seen(&mut self, key: &Key, seen: &CredentialsSeen) {
        match key {
            Key::InfraSecret(secret) => self.secret_seen(key, secret, seen),
            Key::InfraMachine(machine) => {
                let named = RelatedObjects::of(&self.tenant, machine).and_then(|related| {
                    Named::of(&related.identity_reference()?, machine.namespace.as_str())
                });
                let secret = match named {
                    Some(Named::Secret(secret)) => Some(secret),
                    Some(Named::Identity(identity)) => {
                        self.tenant.infra.identities.get(&identity).map(|identity| secret_of(&identity))
                    }
                    None => None,
                };
                let Some(secret) = secret.filter(|secret| self.identities.seen.get(secret) != Some(seen))
                else {
                    return;
                };
                // A machine without our finalizer is no user yet: it asks by its own retries.
                let key = Key::InfraSecret(secret);
                if !self.users_of(&key).is_empty() {
                    self.wake(key, Priority::Event);
                }
            }
            Key::Secret(_)
            | Key::Class(_)
            | Key::Machine(_)
            | Key::Set(_)
            | Key::Deployment(_)
            | Key::InfraCluster(_)
            | Key::InfraIdentity(_)
            | Key::InfraTemplate(_)
            | Key::InfraRemediation(_) => {}
        }
    }

    /// When it is gone, there again, or another one, all machines that need it are reconciled: they say so, and those
    /// that waited for it continue.
    fn secret_seen(&mut self, key: &Key, secret: &ObjectKey, seen: &CredentialsSeen) {
        let before = self.identities.seen.insert(secret.clone(), seen.clone());
        // The first time that it is there is no news: its users have begun with it.
        if before.map_or(*seen == CredentialsSeen::Missing, |before| before != *seen) {
            self.tenant.infra.secrets.forget(secret);
            for (kind, user) in self.users_of(key) {
                if kind == MACHINE {
                    self.retry_infra_at_once(user);
                } else {
                    for machine in self.machines_of_infra_cluster(&Key::InfraCluster(user)) {
                        self.retry_infra_at_once(machine);
                    }
                }
            }
        }
    }

    /// Nobody needs the Secret any more.
    pub(super) fn forget_credentials(&mut self, key: &Key) {
        if let Key::InfraSecret(secret) = key {
            self.identities.seen.remove(secret);
        }
    }

    /// The users of these credentials.
    pub(super) fn identity_users(&self, key: &Key) -> IdentityUsers {
        let users = self.users_of(key);
        let kinds = [Kind::InfraMachine, Kind::InfraCluster, Kind::InfraIdentity];
        let may_be_more = kinds.into_iter().any(|kind| self.index.has_unknown(kind));
        let named = users.iter().take(NAMED).map(|(kind, key)| format!("{kind} {key}")).collect();
        IdentityUsers { count: users.len(), named, may_be_more }
    }

    fn users_of(&self, key: &Key) -> Vec<User> {
        let of_identity = |identity: &ObjectKey| self.identities.users.of(&Named::Identity(identity.clone()));
        match key {
            Key::InfraIdentity(identity) => of_identity(identity),
            Key::InfraSecret(secret) => {
                let identities = self.tenant.infra.identities.all().into_iter();
                let by_identity = identities.filter(|(_, identity)| secret_of(identity) == *secret);
                let by_identity = by_identity.flat_map(|(identity, _)| of_identity(&identity));
                self.identities
                    .users
                    .of(&Named::Secret(secret.clone()))
                    .into_iter()
                    .chain(by_identity)
                    .collect()
            }
            Key::Secret(_)
            | Key::Class(_)
            | Key::Machine(_)
            | Key::Set(_)
            | Key::Deployment(_)
            | Key::InfraMachine(_)
            | Key::InfraCluster(_)
            | Key::InfraTemplate(_)
            | Key::InfraRemediation(_) => Vec::new(),
        }
    }
}
