//! Flags about the Secrets that classes name.

use clap::Args;
use machinist_core::driver::secret_rule::{SecretRules, Unbound};

use super::defaults;
use super::value::{FlagValue, Problems};

/// Secrets that MachineClasses may use.
#[derive(Debug, Args)]
#[command(next_help_heading = "Secrets")]
pub(crate) struct SecretFlags {
    /// Types of Secrets, besides Opaque, that MachineClasses may use, comma-separated. Service account tokens,
    /// bootstrap tokens, registry logins and Helm records are always rejected
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    pub(crate) secret_types: Vec<String>,
    /// Reject Secrets that have neither the annotation machinist.dev/plugins (plugins that may get them) nor
    /// machinist.dev/classes (classes that may use them)
    #[arg(long, default_value_t = (defaults().secrets.unbound == Unbound::Refused).into(), num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) secrets_must_be_bound: FlagValue<bool>,
}

impl SecretFlags {
    pub(super) fn rules(&self, problems: &mut Problems) -> SecretRules {
        let types = self.secret_types.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
        for kind in types.clone().filter(|kind| !SecretRules::may_be_allowed(kind)) {
            problems.add(format!("--secret-types={kind}: classes may never use Secrets of this type"));
        }
        let must_be_bound = problems.take("--secrets-must-be-bound", &self.secrets_must_be_bound);
        SecretRules {
            types: types.map(str::to_owned).collect(),
            unbound: if must_be_bound { Unbound::Refused } else { Unbound::Allowed },
        }
    }
}
