//! The account of a cloud, as far as objects tell: whoever shares it shares its limits.

use machinist_api::MachineClass;
use machinist_core::value::id::{ObjectKey, ProviderName};

use crate::cache::fields::secret_keys;

/// The driver, and the Secrets that its credentials come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CloudAccount {
    provider: ProviderName,
    secrets: Vec<ObjectKey>,
}

impl CloudAccount {
    /// The account that Machines of this class use.
    pub(crate) fn of(class: &MachineClass) -> Self {
        let provider = ProviderName::folded(class.provider.as_deref().unwrap_or_default());
        Self { provider, secrets: secret_keys(class) }
    }
}
