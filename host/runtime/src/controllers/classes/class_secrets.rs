//! The Secrets of a class, as far as the class may use them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use machinist_api::{MachineClass, names};
use machinist_core::driver::secret_rule::{SecretFacts, SecretRefusal, common};
use machinist_core::machine::{DriverFact, SecretFact};
use machinist_core::value::id::{ClassName, ObjectKey, PluginName};

use crate::cache::fields::secret_keys;
use crate::controllers::classes::finalizers::Users;
use crate::controllers::state::TenantState;
use crate::driver_calls::driver_choice::DriverChoice;

/// The Secrets of a class, merged.
pub(crate) struct ClassSecrets {
    pub(crate) fact: SecretFact,
    /// The data of all of them; the credentials win. Empty if the class may not use one of them.
    pub(crate) values: BTreeMap<String, Vec<u8>>,
    /// The plugins that may get the values; `None` for whichever serves.
    pub(crate) plugins: Option<BTreeSet<PluginName>>,
}

/// Reads the Secrets of a class with this driver.
pub(crate) fn of_class(
    tenant: &TenantState,
    class: Option<&MachineClass>,
    driver: &DriverFact,
) -> ClassSecrets {
    let keys = class.map(secret_keys).unwrap_or_default();
    let found: Vec<(ObjectKey, Option<Arc<Secret>>)> =
        keys.into_iter().map(|key| (key.clone(), tenant.secrets.get(&key))).collect();
    let mut all = ClassSecrets { fact: SecretFact::NotNamed, values: BTreeMap::new(), plugins: None };
    let name = class.map_or_else(|| ClassName::new(""), name_of);
    for (key, secret) in &found {
        let Some(secret) = secret else { continue };
        match check(tenant, &name, key, secret, plugin_of(driver)) {
            Ok(plugins) => all.plugins = common(all.plugins, plugins),
            Err(refusal) => {
                let fact = SecretFact::Refused(refusal);
                return ClassSecrets { fact, values: BTreeMap::new(), plugins: Some(BTreeSet::new()) };
            }
        }
        for (key, value) in secret.data.iter().flatten() {
            all.values.insert(key.clone(), value.0.clone());
        }
    }
    if found.is_empty() {
        return all;
    }
    let user_data = all.values.get(names::secret_keys::USER_DATA);
    all.fact = match found.into_iter().find(|(_, secret)| secret.is_none()) {
        Some((key, _)) => SecretFact::Missing(key),
        None if user_data.is_none_or(Vec::is_empty) => SecretFact::WithoutUserData,
        None => SecretFact::Ready,
    };
    all
}

/// The first Secret of a class that the class may not use, and why.
pub(crate) fn refusal(
    tenant: &TenantState,
    class: &MachineClass,
    driver: &DriverFact,
) -> Option<SecretRefusal> {
    match of_class(tenant, Some(class), driver).fact {
        SecretFact::Refused(refusal) => Some(refusal),
        SecretFact::NotNamed | SecretFact::Missing(_) | SecretFact::WithoutUserData | SecretFact::Ready => {
            None
        }
    }
}

/// Returns the classes that may use the Secret. If the driver of a class is unknown, and the Secret is for some plugins
/// only, the class may be one of them.
pub(crate) fn users(tenant: &TenantState, key: &ObjectKey, secret: &Secret, named_by: &[ObjectKey]) -> Users {
    let mut users = Users { known: 0, may_be_more: false };
    for class in named_by.iter().filter_map(|class| tenant.classes.get(class)) {
        let driver = DriverChoice::of(Some(&class)).fact(&*tenant.drivers);
        let plugin = plugin_of(&driver);
        match check(tenant, &name_of(&class), key, secret, plugin) {
            Ok(Some(_)) if plugin.is_none() => users.may_be_more = true,
            Ok(_) => users.known += 1,
            Err(_) => {}
        }
    }
    users
}

/// True where the rules may judge a Secret otherwise than before, or its values are others.
pub(crate) fn differs(old: Option<&Secret>, new: Option<&Secret>) -> bool {
    let judged = |secret: &Secret| {
        let [plugins, classes] = bindings(secret).map(|text| text.map(str::to_owned));
        (secret.data.clone(), secret.type_.clone(), plugins, classes)
    };
    old.map(judged) != new.map(judged)
}

pub(crate) fn check(
    tenant: &TenantState,
    class: &ClassName,
    key: &ObjectKey,
    secret: &Secret,
    plugin: Option<&PluginName>,
) -> Result<Option<BTreeSet<PluginName>>, SecretRefusal> {
    let [plugins, classes] = bindings(secret);
    let kind = secret.type_.as_deref().unwrap_or_default();
    tenant.settings.secrets.check(SecretFacts { key, kind, plugins, classes }, class, plugin)
}

/// For which plugins and classes it is, as its annotations say.
fn bindings(secret: &Secret) -> [Option<&str>; 2] {
    let annotations = secret.metadata.annotations.as_ref();
    [names::annotations::SECRET_PLUGINS, names::annotations::SECRET_CLASSES]
        .map(|name| annotations?.get(name).map(String::as_str))
}

fn name_of(class: &MachineClass) -> ClassName {
    ClassName::new(class.metadata.name.as_deref().unwrap_or_default())
}

/// The plugin that would be called.
pub(crate) fn plugin_of(driver: &DriverFact) -> Option<&PluginName> {
    match driver {
        DriverFact::Ready(facts) | DriverFact::Substitute { serving: facts, .. } => Some(&facts.plugin),
        DriverFact::NotChosen | DriverFact::Refused(_) => None,
    }
}
