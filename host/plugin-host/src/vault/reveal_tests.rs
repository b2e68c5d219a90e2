use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinist_core::value::id::PluginName;

use super::*;

const SUBSCRIPTION: &str = "0f3a6c1e-58d2-4b7a-9c41-7e2d90ab13cd";
const PRIVATE_KEY: &str =
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n";

fn account() -> String {
    serde_json::json!({
        "type": "service_account",
        "project_id": "my-project",
        "private_key": PRIVATE_KEY,
        "universe": { "domain": "googleapis.com" },
        "version": 2,
    })
    .to_string()
}

fn secret(values: &[(&str, &str)]) -> SecretValues {
    let value = |(key, value): &(&str, &str)| ((*key).to_owned(), value.as_bytes().to_vec());
    SecretValues { values: values.iter().map(value).collect(), ..SecretValues::default() }
}

fn vault(values: &[(&str, &str)], grants: &str) -> Vault {
    Vault::new(secret(values), Grants::parse(grants).unwrap().shared())
}

fn revealed(vault: &Vault, key: &str) -> Result<String, Refusal> {
    let value = vault.reveal(vault.open(key).unwrap())?;
    Ok(String::from_utf8(value).unwrap())
}

#[test]
fn a_part_of_a_document_is_a_secret_of_its_own() {
    let account = account();
    let grants = "reveal: ['account#/project_id', 'account#/version', 'account#/none', 'other#/project_id']";
    let vault = vault(&[("account", &account), ("zone", "a")], grants);
    assert_eq!(vault.keys(), ["account", "account#/project_id", "account#/version", "zone"]);
    assert_eq!(revealed(&vault, "account#/project_id"), Ok("my-project".to_owned()));
    assert_eq!(revealed(&vault, "account#/version"), Ok("2".to_owned()));
    assert_eq!(vault.length(vault.open("account#/project_id").unwrap()), 10);
    for absent in ["account#/none", "other#/project_id", "account#", "account#/type"] {
        assert_eq!(vault.open(absent), None, "{absent}");
    }
    assert_eq!(vault.reveals(), 2);
    assert_eq!(vault.credential("account").unwrap().as_slice(), account.as_bytes());
    assert_eq!(vault.credential("account#/project_id"), None, "the host signs with whole values");
    let error = "projects/my-project/zones/a was not found";
    assert_eq!(vault.scrub_text(error), error, "a name stays readable");
    assert_eq!(vault.scrub_recorded(error), error);
}

#[test]
fn attack_a_part_shows_nothing_else_of_its_document() {
    let account = account();
    let grants = "reveal: ['account#/project_id', 'account#/universe']\n\
                  secrets: [{ key: zone, places: [{ header: a }] }]";
    let vault = vault(&[("account", &account), ("zone", "a")], grants);
    assert_eq!(revealed(&vault, "account"), Err(Refusal::NotGranted));
    assert_eq!(revealed(&vault, "account#/universe"), Err(Refusal::NotGranted), "it is no single value");
    assert_eq!(vault.open("account#/private_key"), None);
    let part = vault.open("account#/project_id").unwrap();
    assert_eq!(vault.placeholder(part, &[]), Err(Refusal::NotGranted));
    assert!(!vault.starts_with(part, b"my"));
    for echo in [account.as_str(), PRIVATE_KEY, &STANDARD.encode(&account)] {
        let scrubbed = vault.scrubber().whole(echo.as_bytes()).expect("something is masked");
        assert!(!String::from_utf8_lossy(&scrubbed).contains("MIIEvQIBADANBgkqhkiG9w0BAQ"), "{echo}");
    }
}

#[test]
fn attack_a_private_key_is_revealed_by_a_grant_of_exactly_this_part_only() {
    let account = account();
    let key = "account#/private_key";
    for grants in ["", "reveal: ['account#/project_id']", "reveal: ['account#/', 'account#/type']"] {
        let vault = vault(&[("account", &account)], grants);
        assert_eq!(vault.open(key), None, "{grants}");
    }
    let vault = vault(&[("account", &account)], "reveal: ['account#/private_key']");
    assert_eq!(revealed(&vault, key), Ok(PRIVATE_KEY.to_owned()));
    assert_eq!(vault.recorded_value(key), None, "a recording does not show it even then");
    assert!(!vault.scrub_recorded(PRIVATE_KEY).contains("MIIEvQIBADANBgkqhkiG9w0BAQ"));
}

#[test]
fn a_recording_shows_what_the_grants_reveal_and_a_log_does_not() {
    let vault = vault(
        &[
            ("subscription", SUBSCRIPTION),
            ("tenant", "8c5a2d07-1be9-4f36-a0d4-62c3f97e1b58"),
            ("blank", " x "),
        ],
        "reveal: [subscription, blank]",
    );
    let url =
        format!("https://a/subscriptions/{SUBSCRIPTION}/vms?tenant=8c5a2d07-1be9-4f36-a0d4-62c3f97e1b58");
    let expected = format!("https://a/subscriptions/{SUBSCRIPTION}/vms?tenant=***");
    assert_eq!(vault.scrub_recorded(&url), expected);
    assert_eq!(vault.scrub_recorded_bytes(url.as_bytes()).as_ref(), expected.as_bytes());
    assert_eq!(vault.recorded_value("subscription").as_deref(), Some(SUBSCRIPTION));
    assert_eq!(vault.recorded_value("blank").as_deref(), Some(" x "), "as it is in the Secret");
    assert_eq!(vault.recorded_value("tenant"), None);
    assert_eq!(vault.scrub_text(&url), "https://a/subscriptions/***/vms?tenant=***");
}

#[test]
fn attack_a_value_that_is_under_a_hidden_key_too_stays_masked_in_recordings() {
    let same = vault(&[("subscription", SUBSCRIPTION), ("password", SUBSCRIPTION)], "reveal: [subscription]");
    assert_eq!(same.scrub_recorded(SUBSCRIPTION), MASK);
    assert_eq!(same.recorded_value("subscription"), None);
    let within = vault(
        &[("name", "pass"), ("url", "https://u:hunter2-hunter3@a/"), ("password", "hunter2-hunter3")],
        "reveal: [name, url]",
    );
    assert_eq!(within.recorded_value("url"), None);
    assert_eq!(within.scrub_recorded("at https://u:hunter2-hunter3@a/"), "at https://u:***@a/");

    // Another call of the plugin hides it.
    let known = KnownValues::new(Arc::new(|| Timestamp::UNIX_EPOCH));
    let grants = Grants::parse("reveal: [subscription]").unwrap().shared();
    let call = |values: &[(&str, &str)]| {
        Vault::knowing(secret(values), Arc::clone(&grants), known.to(&PluginName::new("azure")))
    };
    let _first = call(&[("password", SUBSCRIPTION)]);
    assert_eq!(call(&[("subscription", SUBSCRIPTION)]).scrub_recorded(SUBSCRIPTION), MASK);
}

#[test]
fn attack_values_that_look_like_credentials_are_in_no_recording_although_they_are_revealed() {
    let values = BTreeMap::from([
        ("token".to_owned(), b"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_vec()),
        ("key".to_owned(), PRIVATE_KEY.as_bytes().to_vec()),
    ]);
    let user_data = Some(b"#cloud-config\nbootstrap: abcdef.0123456789abcdef\n".to_vec());
    let values = SecretValues { values, user_data, ..SecretValues::default() };
    let grants = Grants::parse("reveal: [token, key, userData]").unwrap().shared();
    let vault = Vault::new(values, grants);
    let token = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    for text in [token, &STANDARD.encode(token), "token abcdef.0123456789abcdef"] {
        let recorded = vault.scrub_recorded(text);
        assert!(recorded.contains(MASK), "{text}");
    }
    assert_eq!((vault.recorded_value("token"), vault.recorded_value("key")), (None, None));
}
