//! Checks that the Secret has the keys with which the host asks for a token. Reads the one that is no secret: the id of
//! the subscription, which is part of every path. The other values stay in the host.

use machinist_sdk::driver::{Code, Encoding, Failure, Host, Secrets};

/// The first key that exists counts, even if it is blank.
const CLIENT_ID: [&str; 2] = ["clientID", "azureClientId"];
const CLIENT_SECRET: [&str; 2] = ["clientSecret", "azureClientSecret"];
const TENANT: [&str; 2] = ["tenantID", "azureTenantId"];
const SUBSCRIPTION: [&str; 2] = ["subscriptionID", "azureSubscriptionId"];
/// The path of a file with a token of another issuer, which Azure trusts instead of a secret.
const TOKEN_FILE: &str = "workloadIdentityTokenFile";
/// Keys with this word belong to a certificate, by which the host signs.
const CERTIFICATE: &str = "certificate";

/// Azure's limit of custom data in bytes, before encoding.
pub(crate) const MOST_USER_DATA_BYTES: u64 = 65_535;

/// Returns the id of the subscription. Names what is missing.
pub(crate) fn check(host: &dyn Host) -> Result<String, Failure> {
    let secrets = host.secrets();
    let mut missing = Vec::new();
    for keys in [CLIENT_ID, TENANT, SUBSCRIPTION] {
        if !has_value(secrets, &keys) {
            missing.push(format!("{} (or {})", keys[0], keys[1]));
        }
    }
    let certifies = secrets.keys().iter().any(|key| key.to_ascii_lowercase().contains(CERTIFICATE));
    let (secret, file) = (has_value(secrets, &CLIENT_SECRET), has_value(secrets, &[TOKEN_FILE]));
    if !secret && !file && !certifies {
        missing.push(format!("{} (or {TOKEN_FILE})", CLIENT_SECRET[0]));
    }
    if secret && file {
        return Err(unauthenticated(format!(
            "the MachineClass's Secret has both {} and {TOKEN_FILE}: remove one of them",
            CLIENT_SECRET[0]
        )));
    }
    if !missing.is_empty() {
        return Err(unauthenticated(format!(
            "the MachineClass's Secret lacks {}: add the service principal that manages the VMs",
            missing.join(" and ")
        )));
    }
    subscription(secrets)
}

fn has_value(secrets: &dyn Secrets, keys: &[&str]) -> bool {
    keys.iter().find_map(|key| secrets.open(key)).is_some_and(|secret| secret.length() > 0)
}

fn subscription(secrets: &dyn Secrets) -> Result<String, Failure> {
    let found = SUBSCRIPTION.iter().find_map(|key| Some((*key, secrets.open(key)?)));
    let Some((key, secret)) = found else {
        return Err(unauthenticated(format!("the MachineClass's Secret lacks {}", SUBSCRIPTION[0])));
    };
    let value = secret.reveal().map_err(|_| {
        Failure::new(
            Code::FailedPrecondition,
            format!(
                "the id of the subscription is part of every request, and the plugin's grants do not reveal it: add \
                 {key} to reveal in the grants"
            ),
        )
    })?;
    let text = String::from_utf8_lossy(&value).trim().to_owned();
    let is_plain = !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_plain {
        return Ok(text);
    }
    Err(unauthenticated(format!(
        "{key} in the MachineClass's Secret is not the id of a subscription: write it as 00000000-0000-0000-0000-000000000000"
    )))
}

fn unauthenticated(message: String) -> Failure {
    Failure::new(Code::Unauthenticated, message).terminal()
}

/// Returns a placeholder for the base64 of the user data.
pub(crate) fn user_data(host: &dyn Host) -> Result<String, Failure> {
    let secret = host.secrets().user_data();
    let message = match secret.as_ref().map_or(0, machinist_sdk::driver::Secret::length) {
        0 => "the MachineClass's Secret lacks userData: add what the VM gets at boot".to_owned(),
        bytes if bytes > MOST_USER_DATA_BYTES => format!(
            "the user data has {bytes} bytes, and Azure takes {MOST_USER_DATA_BYTES} (64 KiB) before encoding: shorten \
             userData in the MachineClass's Secret, or let it fetch the rest at boot"
        ),
        _ => match secret {
            Some(secret) => return Ok(secret.placeholder(&[Encoding::Base64])?),
            None => String::new(),
        },
    };
    Err(Failure::new(Code::InvalidArgument, message).terminal())
}
