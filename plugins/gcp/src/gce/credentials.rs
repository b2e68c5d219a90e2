//! The Secret: credentials with which the host authenticates, the project, and user data. Values stay in the host.

use machinist_sdk::driver::{Code, Encoding, Failure, Host, SecretRefusal, invalid};

use crate::names::is_project;

/// The first key that exists counts, even if it is empty.
const CREDENTIALS: [&str; 3] = ["serviceAccountJSON", "serviceaccount.json", "credentialsConfig"];
/// The key with the project, for credentials that do not contain it.
const PROJECT: &str = "projectID";
/// The field of the JSON file with the project, as grants name it behind the key.
const PROJECT_FIELD: &str = "#/project_id";
/// How what cloud-init reads begins: a configuration, and the template of one, as kubeadm's bootstrap data are.
const OF_CLOUD_INIT: [&[u8]; 2] = [b"#cloud-config", b"## template: jinja"];

/// Google's limit of one value of the metadata.
pub(crate) const MOST_USER_DATA_BYTES: u64 = 256 * 1024;

/// The user data of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserData {
    /// The key of the metadata.
    pub(crate) key: &'static str,
    /// The placeholder of the data, as the inside of a JSON string. Empty: there is none.
    pub(crate) placeholder: String,
}

/// Checks that the Secret has the key with which the host authenticates.
pub(crate) fn check(host: &dyn Host) -> Result<(), Failure> {
    let length = |key: &str| host.secrets().open(key).map(|secret| secret.length());
    let problem = match CREDENTIALS.into_iter().find_map(|key| Some((key, length(key)?))) {
        Some((_, 1..)) => return Ok(()),
        Some((key, 0)) => format!("{key} of the MachineClass's Secret is empty"),
        None => format!("the MachineClass's Secret lacks {}", CREDENTIALS.join(" or ")),
    };
    let message =
        format!("{problem}: put in the JSON file of a service account, or of workload identity federation");
    Err(Failure::new(Code::Unauthenticated, message).terminal())
}

/// Returns the project of the Secret, if it has the key and the grants reveal it.
pub(crate) fn project(host: &dyn Host) -> Result<Option<String>, Failure> {
    revealed_project(host, PROJECT)
}

/// Returns the project in the JSON file with which the host authenticates, if the grants reveal this field of it. The
/// rest of the file stays in the host.
pub(crate) fn project_of_account(host: &dyn Host) -> Result<Option<String>, Failure> {
    match CREDENTIALS.into_iter().find(|key| host.secrets().open(key).is_some()) {
        Some(key) => revealed_project(host, &format!("{key}{PROJECT_FIELD}")),
        None => Ok(None),
    }
}

fn revealed_project(host: &dyn Host, key: &str) -> Result<Option<String>, Failure> {
    let Some(secret) = host.secrets().open(key) else { return Ok(None) };
    let Ok(bytes) = secret.reveal() else { return Ok(None) };
    let text = String::from_utf8(bytes).unwrap_or_default();
    match text.trim() {
        "" => Ok(None),
        project if is_project(project) => Ok(Some(project.to_owned())),
        _ => Err(invalid(format!("{key} of the MachineClass's Secret is not the id of a project"))),
    }
}

/// The failure of a call whose project nobody names.
pub(crate) fn no_project() -> Failure {
    Failure::new(
        Code::FailedPrecondition,
        format!(
            "the project of the instances is unknown: set project in the MachineClass's providerSpec or in the plugin's \
             settings, or add {PROJECT} to the Secret and to reveal in the plugin's grants, or add {}{PROJECT_FIELD} to \
             reveal",
            CREDENTIALS[0]
        ),
    )
}

/// Returns the user data. It must be there and may be empty.
pub(crate) fn user_data(host: &dyn Host) -> Result<UserData, Failure> {
    let Some(secret) = host.secrets().user_data() else {
        return Err(invalid("the MachineClass's Secret lacks userData: add what the instance gets at boot"));
    };
    let bytes = secret.length();
    if bytes > MOST_USER_DATA_BYTES {
        return Err(invalid(format!(
            "the user data has {bytes} bytes, and Google takes {MOST_USER_DATA_BYTES} (256 KiB): shorten userData in the \
             MachineClass's Secret, or let it fetch the rest at boot"
        )));
    }
    let is_of_cloud_init = OF_CLOUD_INIT.iter().any(|start| secret.starts_with(start));
    let key = if is_of_cloud_init { "user-data" } else { "startup-script" };
    if bytes == 0 {
        return Ok(UserData { key, placeholder: String::new() });
    }
    let placeholder = secret.placeholder(&[Encoding::JsonEscape]).map_err(|refused| match refused.refusal {
        SecretRefusal::NotGranted => Failure::new(
            Code::FailedPrecondition,
            "the user data is not granted: add { key: userData, places: [{ json: /metadata/items/0/value }] } to secrets \
             in the plugin's grants",
        ),
        SecretRefusal::Encodings | SecretRefusal::TooMany => refused.into(),
    })?;
    Ok(UserData { key, placeholder })
}
