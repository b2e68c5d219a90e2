//! One class's VMs, listed to the last page or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use machinist_api::MachineClass;
use machinist_core::driver::error::CallError;
use machinist_core::driver::{ClassSpec, HiddenUserData, ListRequest, Listed, SecretValues};
use machinist_core::machine::{DriverFact, SecretFact};
use machinist_core::value::id::PluginName;

use crate::controllers::classes::class_secrets;
use crate::controllers::classes::class_secrets::ClassSecrets;
use crate::controllers::state::TenantState;
use crate::driver_calls::driver_choice::{DriverChoice, class_spec};

/// Beyond that the first page says nothing about what is there at the end.
const FRESH: Duration = Duration::from_mins(5);

/// Hundreds of thousands of VMs. Whoever has more pages turns in a circle.
const PAGES: usize = 10_000;

/// How a driver is asked about a class as a whole.
pub(super) struct ClassAccess {
    pub(super) class: ClassSpec,
    secrets: BTreeMap<String, Vec<u8>>,
    /// Who may get them.
    plugins: Option<BTreeSet<PluginName>>,
    /// Its Machines boot with it: hidden from the driver.
    template: Option<Vec<u8>>,
}

impl ClassAccess {
    /// Values that the host puts in and hides.
    pub(super) fn secrets(&self) -> SecretValues {
        SecretValues {
            values: self.secrets.clone(),
            user_data: None,
            hidden: HiddenUserData { rendered: None, template: self.template.clone() },
            plugins: self.plugins.clone(),
        }
    }
}

/// Why there is no listing.
#[derive(Debug)]
pub(super) enum ListError {
    /// The driver has none to offer.
    NotOffered,
    /// It may work later.
    Failed {
        /// For people.
        message: String,
        /// Not to be tried earlier.
        retry_after: Option<SignedDuration>,
    },
}

fn failed(message: impl Into<String>) -> ListError {
    ListError::Failed { message: message.into(), retry_after: None }
}

/// How the class's driver is reached, as long as it is served and can list.
pub(super) fn class_access(tenant: &TenantState, class: &MachineClass) -> Result<ClassAccess, ListError> {
    let choice = DriverChoice::of(Some(class));
    let driver = choice.fact(&*tenant.drivers);
    match &driver {
        DriverFact::Ready(facts) | DriverFact::Substitute { serving: facts, .. } => {
            if !facts.capabilities.listing {
                return Err(ListError::NotOffered);
            }
        }
        DriverFact::Refused(refusal) => return Err(failed(refusal.to_string())),
        DriverFact::NotChosen => return Err(failed("no driver is chosen")),
    }
    let ClassSecrets { fact, mut values, plugins } = class_secrets::of_class(tenant, Some(class), &driver);
    match fact {
        // What a machine boots with does not matter here.
        SecretFact::NotNamed | SecretFact::WithoutUserData | SecretFact::Ready => {}
        SecretFact::Missing(key) => return Err(failed(format!("Secret {key} does not exist"))),
        SecretFact::Refused(refusal) => return Err(failed(refusal.to_string())),
    }
    let template = values.remove(machinist_api::names::secret_keys::USER_DATA);
    Ok(ClassAccess { class: class_spec(Some(class), &choice, &driver), secrets: values, plugins, template })
}

/// All VMs of the class's account and place that carry the cluster's mark.
pub(super) async fn list(tenant: &TenantState, class: &MachineClass) -> Result<Vec<Listed>, ListError> {
    let class_access = class_access(tenant, class)?;
    match tokio::time::timeout(FRESH, pages(tenant, &class_access)).await {
        Ok(listed) => listed,
        Err(_) => Err(failed(format!("the listing was not complete after {FRESH:?}"))),
    }
}

async fn pages(tenant: &TenantState, class_access: &ClassAccess) -> Result<Vec<Listed>, ListError> {
    let mut machines = Vec::new();
    let mut token: Option<String> = None;
    let mut tokens = BTreeSet::new();
    for _ in 0..PAGES {
        let request = ListRequest {
            class: class_access.class.clone(),
            cluster: tenant.settings.cluster.clone(),
            token: token.clone(),
            secrets: class_access.secrets(),
        };
        let page = tenant.drivers.list(request).await.map_err(|error| of_call(&error))?;
        machines.extend(page.machines);
        let Some(next) = page.next else { return Ok(machines) };
        if !tokens.insert(next.clone()) {
            return Err(failed("the driver repeats a page of its listing"));
        }
        token = Some(next);
    }
    Err(failed("the driver's listing has no end"))
}

fn of_call(error: &CallError) -> ListError {
    let retry_after = match error {
        CallError::Guest(error) => error.retry_after,
        CallError::Broken(_) | CallError::Refused(_) => None,
    };
    ListError::Failed { message: error.to_string(), retry_after }
}
