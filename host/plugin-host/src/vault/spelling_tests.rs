//! Spellings of clouds and careless programs, and honest answers that stay as they are.

use std::collections::BTreeMap;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use bytes::Bytes;
use machinist_core::driver::HiddenUserData;
use machinist_core::value::id::PluginName;

use super::*;

const SECRET_KEY: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzEXAMPLEKEY\n";
const PASSWORD: &str = "hunter2-hunter2-Zx9 \n";
const BOOTSTRAP: &str = "kq3v9d.0x7m2p5r8t1w4y6z";
const PEM: &str = "-----BEGIN PRIVATE KEY-----
MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj
MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu
NMoSfm76oqFvAp8Gy0iz5sxjZmSnXyCdPEovGhLa0VzMaQ8s+CLOyS56YyCFGeJZ
-----END PRIVATE KEY-----
";

fn user_data(token: &str) -> String {
    let unit = "[Unit]\nDescription=\"kubelet\" & friends <of> this node\nAfter=network-online.target\n";
    let file =
        STANDARD.encode("#!/bin/bash\nexec /usr/local/bin/kubelet --config=/var/lib/kubelet/config.yaml");
    format!(
        "#cloud-config\nruncmd:\n- [kubeadm, join, --token, \"{token}\", \"api.internal.example.com:443\"]\n\
         write_files:\n- path: /etc/ssl/node.key\n  content: |\n    {}\n- path: /opt/run.sh\n  encoding: b64\n  content: {file}\n- |\n{unit}",
        PEM.replace('\n', "\n    ")
    )
}

fn vault() -> Vault {
    let values = BTreeMap::from([
        ("secretAccessKey".to_owned(), SECRET_KEY.as_bytes().to_vec()),
        ("password".to_owned(), PASSWORD.as_bytes().to_vec()),
    ]);
    let hidden = HiddenUserData {
        rendered: Some(user_data(BOOTSTRAP).into_bytes()),
        template: Some(user_data("<<BOOTSTRAP_TOKEN>>").into_bytes()),
    };
    Vault::new(SecretValues { values, user_data: None, hidden, plugins: None }, Grants::default().shared())
}

fn wrapped(text: &str, width: usize, end: &str) -> String {
    let lines: Vec<&str> =
        text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
    lines.join(end) + end
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap().trim_matches('"').to_owned()
}

fn form(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn hex_with(text: &str, separator: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(separator)
}

/// The name and the bytes of each spelling.
fn spellings(value: &str) -> Vec<(&'static str, Vec<u8>)> {
    let base64 = STANDARD.encode(value);
    let twice = STANDARD.encode(&base64);
    let text = |name, text: String| (name, text.into_bytes());
    vec![
        text("plain", value.to_owned()),
        text("trimmed", value.trim().to_owned()),
        text("CRLF", value.replace('\n', "\r\n")),
        text("indented", value.lines().map(|line| format!("          {line}\n")).collect()),
        text("JSON", json(value)),
        text("JSON in JSON", json(&json(value))),
        text("JSON four times", json(&json(&json(&json(value))))),
        text("URL", form(value)),
        text("URL twice", form(&form(value))),
        text("URL of JSON", form(&json(value))),
        text(
            "XML",
            value.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;").replace('\n', "&#10;"),
        ),
        text(
            "XML twice",
            value.replace('&', "&amp;amp;").replace('<', "&amp;lt;").replace('"', "&amp;quot;"),
        ),
        text("capitals", value.to_uppercase()),
        text("small letters", value.to_lowercase()),
        text("base64", base64.clone()),
        text("base64 in lines of 64", wrapped(&base64, 64, "\n")),
        text("base64 in lines of 76", wrapped(&base64, 76, "\r\n")),
        text("base64 in lines in JSON", json(&wrapped(&base64, 76, "\r\n"))),
        text("base64 in indented lines", wrapped(&base64, 64, "\n        ")),
        text("base64 of an URL", form(&URL_SAFE.encode(format!("ab{value}")))),
        text("base64 of more", STANDARD.encode(format!("a prefix: {value} and more"))),
        text("base64 twice", twice.clone()),
        text("base64 twice in lines", wrapped(&twice, 76, "\n")),
        text("base64 twice, within", STANDARD.encode(format!("{{\"x\":\"{base64}\"}}"))),
        text("base64 of UTF-16", STANDARD.encode(utf16(value))),
        ("UTF-16", utf16(value)),
        text("hexadecimal", hex_with(value, "")),
        text("hexadecimal with colons", hex_with(value, ":")),
        text("hexadecimal in lines", wrapped(&hex_with(value, " "), 48, "\n")),
        text("escaped bytes", value.bytes().map(|byte| format!("\\x{byte:02x}")).collect()),
        text("escaped characters", value.chars().map(|it| format!("\\u{:04x}", u32::from(it))).collect()),
    ]
}

/// Letters and digits only, in lower case: what is left of a value in any spelling that changes none of them.
fn bare(bytes: &[u8]) -> String {
    bytes
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect()
}

/// The longest piece that is left of what was hidden.
fn left(clean: &[u8]) -> usize {
    let text = String::from_utf8_lossy(clean).replace('\0', "");
    text.split(MASK).map(|part| bare(part.as_bytes()).len()).max().unwrap_or(0)
}

fn streamed(vault: &Vault, bytes: &[u8], piece: usize) -> Vec<u8> {
    let mut scrubber = vault.scrubber();
    let mut out = Vec::new();
    for piece in bytes.chunks(piece) {
        out.extend(scrubber.push(Bytes::copy_from_slice(piece)));
    }
    out.extend(scrubber.finish());
    out
}

#[track_caller]
fn hidden(vault: &Vault, name: &str, spelled: &[u8], most_left: usize) {
    let whole = [b"(: ", spelled, b" :)"].concat();
    for clean in
        [vault.scrub_bytes(&whole).into_owned(), streamed(vault, &whole, 7), streamed(vault, &whole, 5_000)]
    {
        let shown = String::from_utf8_lossy(&clean);
        assert!(shown.contains(MASK), "{name}: {shown}");
        assert!(left(&clean) <= most_left, "{name}: {} characters are left in {shown}", left(&clean));
        assert!(shown.starts_with("(:") && shown.ends_with(":)"), "{name}: {shown}");
    }
}

#[test]
fn attack_a_credential_in_any_spelling() {
    let vault = vault();
    for value in [SECRET_KEY, PASSWORD] {
        for (name, spelled) in spellings(value) {
            // At the borders of base64 some characters depend on a neighbour.
            hidden(&vault, name, &spelled, 24);
        }
    }
}

#[test]
fn attack_a_bootstrap_token_alone_in_any_spelling() {
    let vault = vault();
    for (name, spelled) in spellings(BOOTSTRAP) {
        hidden(&vault, name, &spelled, 16);
    }
    hidden(&vault, "its secret half", &BOOTSTRAP.as_bytes()[7..], 0);
}

#[test]
fn attack_user_data_in_any_spelling() {
    let vault = vault();
    let all = user_data(BOOTSTRAP);
    for (name, spelled) in spellings(&all) {
        let clean = vault.scrub_bytes(&spelled).into_owned();
        // The rest is short and ordinary: no token, no key, no long line.
        for (what, part) in [("token", BOOTSTRAP), ("key", &PEM[30..90]), ("key", &PEM[160..220])] {
            for (_, inner) in spellings(part) {
                let (inner, clean) = (bare(&inner), bare(&clean));
                let core = &inner[inner.len() / 4..inner.len() - inner.len() / 4];
                assert!(!clean.contains(core), "{name}: the {what} is left in {clean}");
            }
        }
        assert!(
            clean.len() * 3 < spelled.len() * 2,
            "{name}: {} of {} bytes are left",
            clean.len(),
            spelled.len()
        );
    }
}

#[test]
fn attack_a_part_of_a_credential() {
    let vault = vault();
    let value = SECRET_KEY.trim();
    for from in 0..=value.len() - 26 {
        hidden(&vault, "26 characters", &value.as_bytes()[from..from + 26], 0);
    }
    hidden(&vault, "two thirds", &value.as_bytes()[..value.len() * 2 / 3], 0);
    let encoded = STANDARD.encode(&value[..value.len() * 2 / 3]);
    hidden(&vault, "two thirds in base64", encoded.as_bytes(), 4);
    hidden(
        &vault,
        "two lines of a key",
        PEM.lines().skip(2).take(2).collect::<Vec<_>>().join("\n").as_bytes(),
        0,
    );
    hidden(&vault, "the end of a line of a key", &PEM.lines().nth(2).unwrap().as_bytes()[38..], 0);
}

#[test]
fn attack_blanks_around_a_value() {
    for value in ["pw-0123456789-abcdef\n", "  hunter2-hunter2\r\n", "\tp4ssw0rd!\n\n"] {
        let values = BTreeMap::from([("password".to_owned(), value.as_bytes().to_vec())]);
        let vault =
            Vault::new(SecretValues { values, ..SecretValues::default() }, Grants::default().shared());
        let trimmed = value.trim();
        for text in [format!("client_secret={trimmed}"), format!("{{\"password\":\"{trimmed}\"}}")] {
            let clean = vault.scrub_text(&text).into_owned();
            assert_eq!(clean, text.replace(trimmed, MASK));
            assert_eq!(streamed(&vault, text.as_bytes(), 3), clean.as_bytes());
        }
    }
}

#[test]
fn attack_a_key_file_line_by_line_and_member_by_member() {
    let file = serde_json::json!({
        "type": "service_account",
        "private_key_id": "3f786850e387550fdab836ed7e6dc881de23001b",
        "private_key": PEM,
        "client_email": "machinist@project.iam.example.com",
        "token_uri": "https://oauth2.example.com/token",
    });
    let kubeconfig = format!("users:\n- name: me\n  user:\n    token: {}\n", SECRET_KEY.trim());
    let values = BTreeMap::from([
        ("serviceAccountJSON".to_owned(), serde_json::to_vec_pretty(&file).unwrap()),
        ("kubeconfig".to_owned(), kubeconfig.into_bytes()),
    ]);
    let vault = Vault::new(SecretValues { values, ..SecretValues::default() }, Grants::default().shared());
    hidden(&vault, "the id of the key", b"3f786850e387550fdab836ed7e6dc881de23001b", 0);
    hidden(&vault, "a line of the key", PEM.lines().nth(1).unwrap().as_bytes(), 0);
    hidden(&vault, "the token", SECRET_KEY.trim().as_bytes(), 0);
    for honest in [
        r#"{"serviceAccounts":[{"email":"machinist@project.iam.example.com","scopes":["https://www.example.com/auth/compute"]}]}"#,
        r#"{"kind":"compute#operation","selfLink":"https://compute.example.com/compute/v1/projects/p/zones/z"}"#,
    ] {
        assert_eq!(vault.scrub_text(honest), honest);
    }
}

/// Answers as clouds give them, with nothing of the secrets in them.
fn honest() -> Vec<String> {
    let instances: String = (0..40)
        .map(|number| {
            format!(
                "<item><instanceId>i-0{number:016x}</instanceId><imageId>ami-0123456789abcdef0</imageId>\
                 <instanceState><code>16</code><name>running</name></instanceState><privateDnsName>ip-10-0-0-{number}.eu-west-1.compute.internal\
                 </privateDnsName><launchTime>2026-11-25T02:18:{number:02}.000Z</launchTime><tagSet><item><key>kubernetes.io/role/node</key>\
                 <value>1</value></item></tagSet></item>"
            )
        })
        .collect();
    vec![
        instances,
        r##"{"servers":[{"id":"123e4567-e89b-12d3-a456-426614174000","name":"node-1","status":"ACTIVE","addresses":{"private":[{"addr":"10.0.0.7","OS-EXT-IPS-MAC:mac_addr":"fa:16:3e:00:01:02"}]},"metadata":{"user-data-hash":"5f4dcc3b5aa765d61d8327deb882cf99"},"created":"2026-11-25T02:18:30Z"}]}"##.to_owned(),
        r##"{"kind":"compute#instance","machineType":"https://www.example.com/compute/v1/projects/p/zones/z/machineTypes/n2-standard-4","disks":[{"boot":true,"source":"https://www.example.com/compute/v1/projects/p/zones/z/disks/node-1"}],"fingerprint":"bGtqaGdmZHNh","metadata":{"items":[{"key":"startup","value":"#!/bin/bash\nset -euo pipefail\necho hello\n"}]}}"##.to_owned(),
        "#cloud-config\nwrite_files:\n- path: /etc/motd\n  content: |\n    another machine of another team\nruncmd:\n- [systemctl, daemon-reload]\n".to_owned(),
    ]
}

#[test]
fn honest_answers_stay_as_they_are() {
    let vault = vault();
    for answer in honest() {
        assert_eq!(vault.scrub_text(&answer), answer);
        assert_eq!(streamed(&vault, answer.as_bytes(), 1_000), answer.as_bytes());
    }
}

/// User data as large as clouds take it: 16 KiB.
fn large(token: &str) -> Vec<u8> {
    let mut text = user_data(token);
    let mut number: u64 = 1;
    while text.len() < 16 * 1024 {
        number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        text.push_str(&format!(
            "- path: /etc/systemd/{}.conf\n  content: key-{number:x} = value\n",
            number >> 50
        ));
    }
    text.into_bytes()
}

#[test]
fn a_mebibyte_is_searched_in_one_pass() {
    let known = KnownValues::new(Arc::new(|| Timestamp::UNIX_EPOCH)).to(&PluginName::new("p"));
    let (template, rendered) = (large("<<BOOTSTRAP_TOKEN>>"), large(BOOTSTRAP));
    let vault = || {
        let values = BTreeMap::from([("secretAccessKey".to_owned(), SECRET_KEY.as_bytes().to_vec())]);
        let hidden = HiddenUserData { rendered: Some(rendered.clone()), template: Some(template.clone()) };
        let values = SecretValues { values, user_data: None, hidden, plugins: None };
        Vault::knowing(values, Grants::default().shared(), known.clone())
    };
    let timed = |what: &str, began: Instant| println!("{what}: {:?}", began.elapsed());
    let began = Instant::now();
    drop(vault());
    timed("the first call's vault with user data of 16 KiB", began);
    let began = Instant::now();
    let vault = vault();
    timed("another call's", began);
    let mut answer = honest().concat().into_bytes();
    let small = answer.clone();
    let began = Instant::now();
    assert_eq!(streamed(&vault, &small, 16 * 1024), small);
    timed("an answer of some KiB", began);
    answer = answer.iter().copied().cycle().take(1 << 20).collect();
    answer.extend(BOOTSTRAP.as_bytes());
    let began = Instant::now();
    let clean = streamed(&vault, &answer, 16 * 1024);
    timed("an answer of 1 MiB", began);
    assert_eq!(clean.len(), (1 << 20) + MASK.len());
    assert!(clean.ends_with(MASK.as_bytes()));
}
