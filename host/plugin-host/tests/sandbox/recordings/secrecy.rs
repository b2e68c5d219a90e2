//! No value of a secret is in a recording, whatever a component and a cloud do with it. Ids that the grants reveal are
//! no secrets.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use machinist_core::driver::{MachineRequest, SecretValues};
use serde_json::json;

use super::{BOOTSTRAP, Fixture, TOKEN, USER_DATA, life, play, recording_into, request, with_secrets};
use crate::fixture::Map;

/// Each value in the spellings in which it travels.
fn spellings() -> Vec<String> {
    let mut all = Vec::new();
    for value in [TOKEN, USER_DATA, BOOTSTRAP, &TOKEN.replace(['"', 'é'], "")] {
        let json = serde_json::to_string(value).expect("JSON");
        let json = json.trim_matches('"').to_owned();
        let twice = serde_json::to_string(&json).expect("JSON");
        all.push(value.to_owned());
        all.push(json);
        all.push(twice.trim_matches('"').to_owned());
        all.push(STANDARD.encode(value).trim_end_matches('=').to_owned());
        all.push(URL_SAFE_NO_PAD.encode(value));
        all.push(url_escaped(value));
        all.push(value.bytes().map(|byte| format!("{byte:02x}")).collect());
        for offset in ["a", "ab"] {
            let within = STANDARD.encode(format!("{offset}{value}"));
            all.push(within[4..within.len() - 4].to_owned());
        }
    }
    all
}

fn url_escaped(value: &str) -> String {
    value
        .bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

#[track_caller]
fn holds_no_secret(text: &str) {
    for spelling in spellings() {
        assert!(!text.contains(&spelling), "{spelling} is in\n{text}");
    }
}

fn texts(folder: &std::path::Path) -> Vec<String> {
    let all = machinist_plugin_host::read_recordings(folder).expect("recordings");
    all.iter().map(|(path, _)| std::fs::read_to_string(path).expect("text")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_life_is_recorded_without_its_secrets() {
    let (recordings, _) = life().await;
    for recording in &recordings {
        holds_no_secret(&serde_json::to_string(recording).expect("JSON"));
    }
    let create = &recordings[0];
    assert_eq!(create.secrets.keys[0].key, "token");
    assert_eq!(create.secrets.user_data_bytes, Some(u64::try_from(USER_DATA.len()).unwrap()));
    let post = create.http.iter().find(|exchange| exchange.method == "POST").expect("a POST");
    let authorization = post.headers.iter().find(|(name, _)| name == "authorization").expect("a header");
    assert!(authorization.1.starts_with("Bearer x0machinist0secret0x"), "{authorization:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revealed_value_is_masked_wherever_the_component_writes_it() {
    let echo = echo_server();
    let folder = tempfile::tempdir().expect("a folder");
    let world = Fixture::with(recording_into(folder.path()));
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    let grants = format!(
        "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{echo}], addresses: loopback }}]\n\
         secrets: [{{ key: token, places: [{{ header: authorization }}] }}, {{ key: userData, places: [{{ json: /u }}] }}]\n\
         reveal: [token, userData]"
    );
    world.ready(Map::new("hostile", hostile).data("grants.yaml", &grants)).await;
    let url = format!("http://127.0.0.1:{echo}/");
    let plans = [
        json!({ "do": "reveal" }),
        json!({ "do": "reveal", "then": "error" }),
        json!({ "do": "reveal", "then": "trap" }),
        json!({ "do": "guess" }),
        json!({ "do": "dump", "url": url }),
        // As a class or a cloud could hold them.
        json!({ "do": "say", "text": format!("{TOKEN} {}", STANDARD.encode(USER_DATA)) }),
        json!({ "do": "fetch", "method": "POST", "url": url, "body": json!({ "tag": TOKEN, "data": USER_DATA }).to_string() }),
        json!({ "do": "fetch", "url": format!("{url}?q={}", url_escaped(TOKEN)) }),
    ];
    for plan in &plans {
        let _either_way = world.host.create(with_secrets(request("hostile", &plan.to_string()))).await;
    }
    world.host.shutdown().await;
    let texts = texts(folder.path());
    assert!(texts.len() > plans.len(), "{}", texts.len());
    for text in &texts {
        holds_no_secret(text);
    }
    let all = machinist_plugin_host::read_recordings(folder.path()).expect("recordings");
    let guesses = all.into_iter().map(|(_, recording)| recording);
    let guess: Vec<_> = guesses.filter(|recording| !recording.secrets.prefixes.is_empty()).collect();
    assert_eq!((guess.len(), guess[0].left_out.len()), (1, 1), "who spells a value out is not followed");
    holds_no_secret(&format!("{:?}", play("hostile", &guess).await));
    assert!(texts.iter().any(|text| text.contains("***")), "something was masked");
    assert!(texts.iter().any(|text| text.contains("\"granted\": true")), "it was shown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_was_shown_a_value_is_replayed_with_another_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Fixture::with(recording_into(folder.path()));
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    world.ready(Map::new("hostile", hostile).data("grants.yaml", "reveal: [token]")).await;
    let ask = with_secrets(request("hostile", r#"{"do":"reveal"}"#));
    world.host.create(ask).await.expect("reports");
    let recordings = super::recorded(&world, folder.path()).await;
    let played = play("hostile", &recordings).await.remove(0).expect("plays");
    assert!(played.recording.secrets.reveals.iter().any(|reveal| reveal.key == "token" && reveal.granted));
    holds_no_secret(&format!("{played:?}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_that_was_shown_an_id_or_a_part_is_replayed_with_the_same_one() {
    const ID: &str = "0f3a6c1e-58d2-4b7a-9c41-7e2d90ab13cd";
    let folder = tempfile::tempdir().expect("a folder");
    let world = Fixture::with(recording_into(folder.path()));
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    let grants = "reveal: [subscription, 'account#/project_id']";
    world.ready(Map::new("hostile", hostile).data("grants.yaml", grants)).await;
    let account = r#"{"project_id":"my-project","private_key":"wJalrXUtnFEMI/K7MDENG/bPxRfiCY"}"#;
    let values = [("subscription", ID), ("account", account)];
    let values = values.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
    let secrets = SecretValues { values: values.into(), ..SecretValues::default() };
    let ask = MachineRequest { secrets, ..request("hostile", r#"{"do":"reveal"}"#) };
    world.host.create(ask).await.expect("reports");
    let recordings = super::recorded(&world, folder.path()).await;
    let text = serde_json::to_string(&recordings).expect("JSON");
    assert!(text.contains(ID) && text.contains("my-project") && !text.contains("wJalrXUtnFEMI"), "{text}");
    let played = play("hostile", &recordings).await.remove(0).expect("plays");
    assert!(played.differences.is_empty(), "{:?}", played.differences);
    assert_eq!(played.recording.secrets, recordings[0].secrets);
}

/// Answers each request with all that it got.
fn echo_server() -> u16 {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut got = vec![0; 64 * 1024];
                let length = stream.read(&mut got).unwrap_or(0);
                let head =
                    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
                let _gone = stream.write_all(&[head.as_bytes(), &got[..length]].concat());
            });
        }
    });
    port
}
