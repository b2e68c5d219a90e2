//! Which Secrets a class may use, and which plugins may get them.
//!
//! A class names Secrets of its namespace, so its author could otherwise pass Secrets to a driver without permission to
//! read them: the token of a service account, the login of a registry, the credentials of another team.

use std::collections::BTreeSet;
use std::fmt;

use crate::value::id::{ClassName, ObjectKey, PluginName};

/// The type of Secrets with arbitrary content.
const OPAQUE: &str = "Opaque";

/// Prefixes of types whose Secrets are credentials of Kubernetes itself or the records of a program: no operator can
/// want a cloud driver to have them.
const NEVER: [&str; 5] = [
    "kubernetes.io/service-account-token", "kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson",
    "bootstrap.kubernetes.io/", "helm.sh/",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretRules {
    /// Types that classes may use beside `Opaque`.
    pub types: BTreeSet<String>,
    /// The rule for a Secret that names neither plugins nor classes.
    pub unbound: Unbound,
}

/// The rule for a Secret that is bound to no plugin and to no class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unbound {
    /// Every class of its namespace may use it.
    #[default]
    Allowed,
    Refused,
}

/// A Secret, as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct SecretFacts<'a> {
    /// Its namespace and name.
    pub key: &'a ObjectKey,
    /// `type`; empty where there is none.
    pub kind: &'a str,
    /// The annotation that names plugins, if it is there.
    pub plugins: Option<&'a str>,
    /// The annotation that names classes, if it is there.
    pub classes: Option<&'a str>,
}

/// Why a class may not use a Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRefusal {
    pub secret: ObjectKey,
    pub why: WhyRefused,
}

/// The rule that a Secret breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyRefused {
    /// Its type is not one of those that classes may use.
    Type(String),
    /// It is bound to nothing, and must be.
    Unbound,
    /// It is for other classes.
    Class(ClassName),
    /// It is for other plugins.
    Plugin(PluginName),
}

impl fmt::Display for SecretRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secret, why } = self;
        match why {
            WhyRefused::Type(kind) if is_never(kind) => write!(
                f,
                "Secret {secret} is of type {kind}, which no class may use: name a Secret of type Opaque with the \
                 credentials of the cloud"
            ),
            WhyRefused::Type(kind) => write!(
                f,
                "Secret {secret} is of type {kind:?}: name one of type Opaque, or start the host with --secret-types for it"
            ),
            WhyRefused::Unbound => write!(
                f,
                "Secret {secret} says neither which plugins nor which classes may use it, and the host runs with \
                 --secrets-must-be-bound: annotate it with machinist.dev/plugins or machinist.dev/classes"
            ),
            WhyRefused::Class(class) => write!(
                f,
                "Secret {secret} is not for MachineClass {class}: add the class to its annotation machinist.dev/classes, or \
                 name another Secret"
            ),
            WhyRefused::Plugin(plugin) => write!(
                f,
                "Secret {secret} is not for plugin {plugin}, which serves the class: add the plugin to its annotation \
                 machinist.dev/plugins, or name another Secret"
            ),
        }
    }
}

impl std::error::Error for SecretRefusal {}

impl SecretRules {
    /// Whether an operator may allow this type.
    pub fn may_be_allowed(kind: &str) -> bool {
        !kind.is_empty() && !is_never(kind)
    }

    /// Returns the plugins that may get the Secret for this class, `None` for all.
    ///
    /// `plugin` serves the class, if known: it is checked here to be reported early, and again before the values are
    /// passed, since another plugin may serve by then.
    ///
    /// # Errors
    /// When the class may not use the Secret.
    pub fn check(
        &self,
        secret: SecretFacts<'_>,
        class: &ClassName,
        plugin: Option<&PluginName>,
    ) -> Result<Option<BTreeSet<PluginName>>, SecretRefusal> {
        let refuse = |why| Err(SecretRefusal { secret: secret.key.clone(), why });
        let is_allowed = ["", OPAQUE].contains(&secret.kind)
            || (self.types.contains(secret.kind) && !is_never(secret.kind));
        if !is_allowed {
            return refuse(WhyRefused::Type(secret.kind.to_owned()));
        }
        if self.unbound == Unbound::Refused && secret.plugins.is_none() && secret.classes.is_none() {
            return refuse(WhyRefused::Unbound);
        }
        if secret.classes.is_some_and(|classes| !names(classes).any(|name| name == class.as_str())) {
            return refuse(WhyRefused::Class(class.clone()));
        }
        let Some(plugins) = secret.plugins else { return Ok(None) };
        let plugins: BTreeSet<PluginName> = names(plugins).map(PluginName::new).collect();
        match plugin.filter(|plugin| !plugins.contains(*plugin)) {
            Some(plugin) => refuse(WhyRefused::Plugin(plugin.clone())),
            None => Ok(Some(plugins)),
        }
    }
}

/// The plugins that may get all of several Secrets: `None` means every plugin.
pub fn common(
    one: Option<BTreeSet<PluginName>>,
    other: Option<BTreeSet<PluginName>>,
) -> Option<BTreeSet<PluginName>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.intersection(&other).cloned().collect()),
        (one, other) => one.or(other),
    }
}

fn is_never(kind: &str) -> bool {
    NEVER.iter().any(|prefix| kind.starts_with(prefix))
}

/// The names of a list with commas.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        rules: &SecretRules,
        (kind, plugins, classes): (&str, Option<&str>, Option<&str>),
        plugin: Option<&str>,
    ) -> Result<Option<Vec<String>>, WhyRefused> {
        let key = ObjectKey::new("garden", "cloud");
        let facts = SecretFacts { key: &key, kind, plugins, classes };
        let checked = rules.check(facts, &ClassName::new("small"), plugin.map(PluginName::new).as_ref());
        let text = |plugins: BTreeSet<PluginName>| plugins.iter().map(ToString::to_string).collect();
        checked.map(|plugins| plugins.map(text)).map_err(|refusal| {
            assert!(refusal.to_string().contains("garden/cloud"), "{refusal}");
            refusal.why
        })
    }

    #[test]
    fn attack_a_class_names_a_secret_of_kubernetes_itself() {
        let all = |kind: &str| SecretRules { types: [kind.to_owned()].into(), ..SecretRules::default() };
        for kind in [
            "kubernetes.io/service-account-token", "kubernetes.io/dockerconfigjson",
            "kubernetes.io/dockercfg", "bootstrap.kubernetes.io/token", "helm.sh/release.v1",
        ] {
            let refused = Err(WhyRefused::Type(kind.to_owned()));
            assert_eq!(check(&SecretRules::default(), (kind, None, None), None), refused);
            // An operator's typing error does not open them.
            assert_eq!(check(&all(kind), (kind, None, None), Some("aws")), refused);
            assert!(!SecretRules::may_be_allowed(kind));
        }
        for kind in ["kubernetes.io/tls", "kubernetes.io/basic-auth", "example.com/cloud", "opaque"] {
            assert!(check(&SecretRules::default(), (kind, None, None), None).is_err(), "{kind}");
            assert_eq!(check(&all(kind), (kind, None, None), None), Ok(None), "{kind}");
        }
        for kind in ["", "Opaque"] {
            assert_eq!(check(&SecretRules::default(), (kind, None, None), None), Ok(None));
        }
    }

    #[test]
    fn attack_a_class_hands_the_secret_of_another_team_to_its_own_plugin() {
        let rules = SecretRules::default();
        let bound = ("Opaque", Some("aws, gcp"), None);
        let both = Ok(Some(vec!["aws".to_owned(), "gcp".to_owned()]));
        assert_eq!(check(&rules, bound, Some("aws")), both);
        assert_eq!(check(&rules, bound, None), both, "whoever hands it over checks the plugin");
        assert_eq!(check(&rules, bound, Some("evil")), Err(WhyRefused::Plugin("evil".into())));
        for nobody in ["", " , "] {
            let refused = Err(WhyRefused::Plugin("aws".into()));
            assert_eq!(check(&rules, ("", Some(nobody), None), Some("aws")), refused);
            assert_eq!(check(&rules, ("", Some(nobody), None), None), Ok(Some(Vec::new())));
        }
    }

    #[test]
    fn attack_a_class_names_a_secret_that_is_for_other_classes() {
        let rules = SecretRules::default();
        assert_eq!(check(&rules, ("", None, Some("large,small")), None), Ok(None));
        for classes in ["large", "", "small-2", "Small", "*"] {
            let refused = Err(WhyRefused::Class("small".into()));
            assert_eq!(check(&rules, ("", Some("aws"), Some(classes)), Some("aws")), refused, "{classes:?}");
        }
    }

    #[test]
    fn where_secrets_must_be_bound_one_that_is_not_is_refused() {
        let rules = SecretRules { unbound: Unbound::Refused, ..SecretRules::default() };
        assert_eq!(check(&rules, ("Opaque", None, None), Some("aws")), Err(WhyRefused::Unbound));
        assert_eq!(check(&rules, ("Opaque", Some("aws"), None), Some("aws")), Ok(Some(vec!["aws".into()])));
        assert_eq!(check(&rules, ("Opaque", None, Some("small")), Some("aws")), Ok(None));
    }

    #[test]
    fn of_two_secrets_those_may_get_the_values_that_both_name() {
        let set = |names: &[&str]| Some(names.iter().map(|name| PluginName::new(*name)).collect());
        assert_eq!(common(set(&["a", "b"]), set(&["b", "c"])), set(&["b"]));
        assert_eq!((common(None, set(&["a"])), common(set(&["a"]), None)), (set(&["a"]), set(&["a"])));
        assert_eq!(common(None, None), None);
        assert_eq!(common(set(&["a"]), set(&["b"])), set(&[]), "nobody, and not everybody");
    }
}
