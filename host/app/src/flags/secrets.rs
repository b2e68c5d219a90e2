//! Flags about the Secrets that classes name.

use clap::Args;
use machinist_core::driver::secret_rule::{SecretRules, Unbound};

use super::defaults;
use super::value::{FlagValue, Problems};

/// Which Secrets classes may use.
#[derive(Debug, Args)]
#[command(next_help_heading = "Secrets")]
pub(crate) struct SecretFlags {
    /// Types of Secrets that classes may use beside Opaque, separated by commas. Tokens of service accounts, bootstrap tokens,
    /// logins of registries and records of Helm are refused in any case
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    pub(crate) secret_types: Vec<String>,
    /// Refuse Secrets that say neither by annotation machinist.dev/plugins which plugins may get them, nor by
    /// machinist.dev/classes which classes may use them
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
