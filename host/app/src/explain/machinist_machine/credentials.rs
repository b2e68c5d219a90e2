//! The credentials of a MachinistMachine: which they are, and whether it may use them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::{Api, Client};
use machinist_api::infrastructure::{
    IdentityReference, MachinistCluster, MachinistIdentity, MachinistMachine,
};
use machinist_core::value::id::ObjectKey;

use crate::explain::explanation::{Link, LinkState};
use crate::explain::read::{Lookup, named, presence};

/// The facts about its credentials.
pub(super) struct CredentialFacts {
    pub(super) reference: Option<IdentityReference>,
    /// The MachinistIdentity, if the reference names one.
    pub(super) identity: Lookup<MachinistIdentity>,
    /// The labels of the namespace. `None`: they are not needed, or cannot be read.
    pub(super) namespace_labels: Option<BTreeMap<String, String>>,
    pub(super) secret: Lookup<()>,
}

pub(super) async fn gather(
    client: &Client,
    namespace: &str,
    machine: &MachinistMachine,
    cluster: Option<&MachinistCluster>,
) -> CredentialFacts {
    let reference = machine.identity(cluster);
    let identity_name = reference.as_ref().filter(|reference| reference.kind == "MachinistIdentity");
    let identity: Lookup<MachinistIdentity> =
        named(Api::all(client.clone()), identity_name.map(|reference| reference.name.as_str())).await;
    let labels = match identity.found() {
        Some(identity) if selects_by_labels(identity) => {
            let namespaces: Api<Namespace> = Api::all(client.clone());
            let found = namespaces.get_metadata_opt(namespace).await.ok().flatten();
            found.map(|namespace| namespace.metadata.labels.unwrap_or_default())
        }
        Some(_) | None => None,
    };
    let secret = match secret_of(reference.as_ref(), identity.found(), namespace) {
        Some(key) => {
            let secrets: Api<Secret> = Api::namespaced(client.clone(), key.namespace.as_str());
            presence(secrets, Some(key.name.as_str())).await
        }
        None => Lookup::NotNamed,
    };
    CredentialFacts { reference, identity, namespace_labels: labels, secret }
}

fn selects_by_labels(identity: &MachinistIdentity) -> bool {
    identity.spec.allowed_namespaces.as_ref().is_some_and(|allowed| allowed.selector.is_some())
}

/// The Secret with the credentials.
fn secret_of(
    reference: Option<&IdentityReference>,
    identity: Option<&MachinistIdentity>,
    namespace: &str,
) -> Option<ObjectKey> {
    let reference = reference?;
    match (reference.kind.as_str(), identity) {
        ("Secret", _) => Some(ObjectKey::new(namespace, &reference.name)),
        (_, Some(identity)) => {
            let secret = &identity.spec.secret_ref;
            Some(ObjectKey::new(secret.namespace.as_str(), &secret.name))
        }
        (_, None) => None,
    }
}

/// Whether a namespace may use a MachinistIdentity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Allowed,
    Refused,
    /// The labels of the namespace decide, and cannot be read.
    Unknown,
}

fn use_of(identity: &MachinistIdentity, namespace: &str, labels: Option<&BTreeMap<String, String>>) -> Use {
    let Some(allowed) = &identity.spec.allowed_namespaces else { return Use::Refused };
    let is_allowed = |labels: &BTreeMap<String, String>| allowed.allow(namespace, labels);
    match labels {
        Some(labels) if is_allowed(labels) => Use::Allowed,
        Some(_) => Use::Refused,
        None if is_allowed(&BTreeMap::new()) => Use::Allowed,
        None if selects_by_labels(identity) => Use::Unknown,
        None => Use::Refused,
    }
}

/// The credentials, as a part of the chain. `class`: the name of its class, whose Secrets count where none are named.
pub(super) fn link(facts: &CredentialFacts, namespace: &str, class: Option<&str>) -> Link {
    let link = |state, says: String| Link::new("identity", state, says);
    let Some(reference) = &facts.reference else {
        return match class {
            Some(class) => link(LinkState::Good, format!("the Secrets of MachineClass {class} count")),
            None => link(
                LinkState::Absent,
                "neither it nor its MachinistCluster names any credentials: set identityRef, if the cloud needs some".into(),
            ),
        };
    };
    let name = &reference.name;
    match reference.kind.as_str() {
        "Secret" => secret(&format!("Secret {namespace}/{name}"), &facts.secret),
        "MachinistIdentity" => match &facts.identity {
            Lookup::NotNamed => {
                link(LinkState::Bad, "the reference to a MachinistIdentity has no name: set it".into())
            }
            Lookup::Missing(name) => {
                link(LinkState::Bad, format!("MachinistIdentity {name} does not exist: create it"))
            }
            Lookup::Unreadable(why) => link(LinkState::Unknown, format!("MachinistIdentity {why}")),
            Lookup::Found(identity) => match use_of(identity, namespace, facts.namespace_labels.as_ref()) {
                Use::Refused => link(
                    LinkState::Bad,
                    format!(
                        "MachinistIdentity {name} is not for namespace {namespace}: add it to allowedNamespaces"
                    ),
                ),
                Use::Unknown => link(
                    LinkState::Unknown,
                    format!(
                        "MachinistIdentity {name} is for namespaces with certain labels, which cannot be read here"
                    ),
                ),
                Use::Allowed => {
                    let of = &identity.spec.secret_ref;
                    let text = format!("MachinistIdentity {name} with Secret {}/{}", of.namespace, of.name);
                    secret(&text, &facts.secret)
                }
            },
        },
        other => link(
            LinkState::Bad,
            format!("identityRef has kind {other:?}: set it to Secret or MachinistIdentity"),
        ),
    }
}

fn secret(text: &str, secret: &Lookup<()>) -> Link {
    let link = |state, says: String| Link::new("identity", state, says);
    match secret {
        Lookup::Found(()) => link(LinkState::Good, text.to_owned()),
        Lookup::Missing(_) => link(LinkState::Bad, format!("{text} does not exist: create it")),
        Lookup::Unreadable(why) => link(LinkState::Unknown, format!("{text}: {why}")),
        Lookup::NotNamed => link(LinkState::Bad, format!("{text}: the Secret has no name")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;

    fn identity(allowed: &Value) -> Lookup<MachinistIdentity> {
        let identity = json!({
            "metadata": { "name": "central" },
            "spec": { "secretRef": { "name": "keys", "namespace": "platform" }, "allowedNamespaces": allowed },
        });
        Lookup::Found(serde_json::from_value(identity).unwrap())
    }

    fn facts(kind: &str, identity: Lookup<MachinistIdentity>, secret: Lookup<()>) -> CredentialFacts {
        let reference = IdentityReference { kind: kind.to_owned(), name: "central".to_owned() };
        CredentialFacts { reference: Some(reference), identity, namespace_labels: None, secret }
    }

    fn check(facts: &CredentialFacts, expected: &Expect) {
        let Link { state, says, .. } = link(facts, "team", None);
        expected.assert_eq(&format!("{state:?}: {says}"));
    }

    #[test]
    fn a_secret_of_the_namespace_is_there_or_has_to_be_created() {
        let of = |secret| facts("Secret", Lookup::NotNamed, secret);
        check(&of(Lookup::Found(())), &expect!["Good: Secret team/central"]);
        check(
            &of(Lookup::Missing("central".into())),
            &expect!["Bad: Secret team/central does not exist: create it"],
        );
        check(
            &of(Lookup::Unreadable("central cannot be read: no (403)".into())),
            &expect!["Unknown: Secret team/central: central cannot be read: no (403)"],
        );
    }

    #[test]
    fn an_identity_says_whom_it_is_for() {
        let there = |allowed: &Value| facts("MachinistIdentity", identity(allowed), Lookup::Found(()));
        check(&there(&json!({})), &expect!["Good: MachinistIdentity central with Secret platform/keys"]);
        check(
            &there(&json!({ "list": ["team"] })),
            &expect!["Good: MachinistIdentity central with Secret platform/keys"],
        );
        let refused =
            expect!["Bad: MachinistIdentity central is not for namespace team: add it to allowedNamespaces"];
        check(&there(&json!({ "list": ["other"] })), &refused);
        check(&there(&Value::Null), &refused);
        let labelled = json!({ "selector": { "matchLabels": { "tier": "prod" } } });
        check(
            &there(&labelled),
            &expect![
                "Unknown: MachinistIdentity central is for namespaces with certain labels, which cannot be read here"
            ],
        );
        let labels = BTreeMap::from([("tier".to_owned(), "prod".to_owned())]);
        let known = CredentialFacts { namespace_labels: Some(labels), ..there(&labelled) };
        check(&known, &expect!["Good: MachinistIdentity central with Secret platform/keys"]);
        let missing = facts("MachinistIdentity", Lookup::Missing("central".into()), Lookup::NotNamed);
        check(&missing, &expect!["Bad: MachinistIdentity central does not exist: create it"]);
        let other = facts("ConfigMap", Lookup::NotNamed, Lookup::NotNamed);
        check(
            &other,
            &expect![[r#"Bad: identityRef has kind "ConfigMap": set it to Secret or MachinistIdentity"#]],
        );
    }

    #[test]
    fn without_a_reference_the_class_has_the_credentials() {
        let none = CredentialFacts { reference: None, ..facts("", Lookup::NotNamed, Lookup::NotNamed) };
        check(
            &none,
            &expect![
                "Absent: neither it nor its MachinistCluster names any credentials: set identityRef, if the cloud needs some"
            ],
        );
        assert_eq!(link(&none, "team", Some("small")).says, "the Secrets of MachineClass small count");
    }
}
