//! Which Secret has the credentials of the cloud.

use std::collections::BTreeMap;

use machinist_api::infrastructure::{IdentityReference, MachinistIdentity};
use machinist_core::infra_machine::IdentityFact;
use machinist_core::value::id::ObjectKey;

/// The kinds that a reference may name.
const SECRET: &str = "Secret";
const IDENTITY: &str = "MachinistIdentity";

/// The credentials that an object names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamedIdentity {
    Nothing,
    /// It names something that it cannot use.
    Unusable(IdentityFact),
    /// The credentials are in these Secrets.
    Secrets(Vec<ObjectKey>),
}

/// A MachinistIdentity, as far as the cache has it.
pub(crate) type FindIdentity<'a> = &'a dyn Fn(&str) -> Option<std::sync::Arc<MachinistIdentity>>;

/// Returns the credentials that a reference in this namespace names. `labels` are those of the namespace.
pub(crate) fn named(
    reference: &IdentityReference,
    namespace: &str,
    labels: &BTreeMap<String, String>,
    find: FindIdentity<'_>,
) -> NamedIdentity {
    let IdentityReference { kind, name } = reference;
    match kind.as_str() {
        SECRET => NamedIdentity::Secrets(vec![ObjectKey::new(namespace, name)]),
        IDENTITY => {
            let Some(identity) = find(name) else {
                let message = format!("MachinistIdentity {name} does not exist: create it");
                return NamedIdentity::Unusable(IdentityFact::Missing(message));
            };
            let spec = &identity.spec;
            let is_allowed =
                spec.allowed_namespaces.as_ref().is_some_and(|allowed| allowed.allow(namespace, labels));
            if is_allowed {
                let secret = &spec.secret_ref;
                NamedIdentity::Secrets(vec![ObjectKey::new(secret.namespace.as_str(), &secret.name)])
            } else {
                let message = format!(
                    "MachinistIdentity {name} is not for namespace {namespace}: add it to allowedNamespaces"
                );
                NamedIdentity::Unusable(IdentityFact::Refused(message))
            }
        }
        other => {
            let message = format!("identityRef has kind {other:?}: set it to {SECRET} or {IDENTITY}");
            NamedIdentity::Unusable(IdentityFact::Missing(message))
        }
    }
}

/// Returns the credentials of a class. The host may read any Secret whose name it knows, and a class is its author's
/// word: only Secrets of the machine's own namespace are used.
pub(crate) fn of_class(secrets: Vec<ObjectKey>, namespace: &str) -> NamedIdentity {
    if let Some(foreign) = secrets.iter().find(|secret| secret.namespace.as_str() != namespace) {
        let message = format!(
            "the MachineClass names Secret {foreign} of another namespace: set identityRef to a MachinistIdentity that \
             allows namespace {namespace}"
        );
        return NamedIdentity::Unusable(IdentityFact::Refused(message));
    }
    if secrets.is_empty() { NamedIdentity::Nothing } else { NamedIdentity::Secrets(secrets) }
}

/// Returns whether the labels of the namespace decide about the use of an identity.
pub(crate) fn needs_labels(reference: &IdentityReference, find: FindIdentity<'_>) -> bool {
    reference.kind == IDENTITY
        && find(&reference.name).is_some_and(|identity| {
            identity.spec.allowed_namespaces.as_ref().is_some_and(|allowed| allowed.selector.is_some())
        })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use machinist_api::infrastructure::identity::AllowedNamespaces;

    use super::*;

    fn reference(kind: &str) -> IdentityReference {
        IdentityReference { kind: kind.to_owned(), name: "account".to_owned() }
    }

    fn with(allowed: Option<AllowedNamespaces>) -> impl Fn(&str) -> Option<Arc<MachinistIdentity>> {
        let mut identity = MachinistIdentity::default();
        identity.spec.secret_ref.name = "keys".to_owned();
        identity.spec.secret_ref.namespace = "central".to_owned();
        identity.spec.allowed_namespaces = allowed;
        let identity = Arc::new(identity);
        move |name| (name == "account").then(|| Arc::clone(&identity))
    }

    fn of(kind: &str, find: FindIdentity<'_>) -> NamedIdentity {
        named(&reference(kind), "team", &BTreeMap::new(), find)
    }

    #[test]
    fn a_secret_is_of_the_same_namespace() {
        assert_eq!(of(SECRET, &|_| None), NamedIdentity::Secrets(vec![ObjectKey::new("team", "account")]));
    }

    #[test]
    fn an_identity_is_for_the_namespaces_that_it_names() {
        let keys = NamedIdentity::Secrets(vec![ObjectKey::new("central", "keys")]);
        let list = |names: &[&str]| {
            let list = names.iter().map(|name| (*name).to_owned()).collect();
            Some(AllowedNamespaces { list, selector: None })
        };
        assert_eq!(of(IDENTITY, &with(list(&["team"]))), keys);
        assert_eq!(of(IDENTITY, &with(list(&[]))), keys, "an empty rule is for all");
        for refused in [list(&["other"]), None] {
            let found = of(IDENTITY, &with(refused));
            let NamedIdentity::Unusable(IdentityFact::Refused(message)) = found else { panic!("{found:?}") };
            assert!(message.contains("allowedNamespaces"), "{message}");
        }
    }

    #[test]
    fn a_class_reaches_no_secret_of_another_namespace() {
        let own = vec![ObjectKey::new("team", "account")];
        assert_eq!(of_class(own.clone(), "team"), NamedIdentity::Secrets(own.clone()));
        let both = [own, vec![ObjectKey::new("kube-system", "admin")]].concat();
        let found = of_class(both, "team");
        let NamedIdentity::Unusable(IdentityFact::Refused(message)) = found else { panic!("{found:?}") };
        assert!(message.contains("kube-system/admin"), "{message}");
        assert_eq!(of_class(Vec::new(), "team"), NamedIdentity::Nothing);
    }

    #[test]
    fn what_is_not_there_or_not_known_is_named() {
        for (kind, part) in [(IDENTITY, "create it"), ("ConfigMap", "set it to Secret")] {
            let found = of(kind, &|_| None);
            let NamedIdentity::Unusable(IdentityFact::Missing(message)) = found else { panic!("{found:?}") };
            assert!(message.contains(part), "{message}");
        }
    }
}
