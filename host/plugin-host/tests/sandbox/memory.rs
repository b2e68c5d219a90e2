//! The memory of an instance at the end of its call.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinist_core::driver::{Creation, ListRequest, MachineRequest, Operation, SecretValues};
use machinist_plugin_host::testing::{InspectedCall, MemoryInspector};

use crate::fixture::{Fixture, Map, class, request, settings};

const TOKEN: &str = "canary-token-3f9b2d7c51";
const USER_DATA: &str = "#cloud-config\nbootstrap: canary.0123456789abcdef\n";

/// Which needles stood where.
#[derive(Default)]
struct Scan {
    needles: Vec<(&'static str, Vec<u8>)>,
    found: Mutex<Vec<(Operation, &'static str)>>,
    seen: Mutex<Vec<(Operation, usize)>>,
}

impl MemoryInspector for Scan {
    fn call_ended(&self, call: &InspectedCall<'_>) {
        let bytes = call.memories().map(<[u8]>::len).sum();
        self.seen.lock().unwrap().push((call.operation, bytes));
        for (name, needle) in &self.needles {
            if call.contains(needle) {
                self.found.lock().unwrap().push((call.operation, name));
            }
        }
    }
}

impl Scan {
    /// A value as it is and in the spellings in which it travels.
    fn for_values(values: &[(&'static str, &str)]) -> Arc<Self> {
        let mut needles = Vec::new();
        for (name, value) in values {
            needles.push((*name, value.as_bytes().to_vec()));
            let encoded = STANDARD.encode(value);
            needles.push((*name, encoded.trim_end_matches('=').as_bytes().to_vec()));
        }
        Arc::new(Self { needles, ..Self::default() })
    }

    fn found(&self) -> Vec<(Operation, &'static str)> {
        std::mem::take(&mut *self.found.lock().unwrap())
    }

    fn operations(&self) -> Vec<Operation> {
        self.seen.lock().unwrap().iter().map(|(operation, _)| *operation).collect()
    }

    fn world(self: &Arc<Self>) -> Fixture {
        let mut settings = settings();
        settings.memory_inspector = Some(self.clone());
        Fixture::with(settings)
    }
}

fn secrets(values: &[(&str, &str)]) -> SecretValues {
    let values: BTreeMap<_, _> =
        values.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
    SecretValues { values, user_data: Some(USER_DATA.as_bytes().to_vec()), ..SecretValues::default() }
}

fn with_secrets(mut request: MachineRequest, values: &[(&str, &str)]) -> MachineRequest {
    request.secrets = secrets(values);
    request
}

#[tokio::test]
async fn a_value_that_a_driver_was_shown_is_found() {
    let scan = Scan::for_values(&[("token", TOKEN), ("user data", USER_DATA)]);
    let world = scan.world();
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    world.ready(Map::new("hostile", hostile).data("grants.yaml", "reveal: [token]")).await;
    assert_eq!(scan.found(), []);
    let ask = with_secrets(request("hostile", r#"{"do":"reveal"}"#), &[("token", TOKEN)]);
    world.host.create(ask).await.expect("reports");
    assert_eq!(scan.found(), [(Operation::Create, "token")], "and the user data is not");
    let ask = with_secrets(request("hostile", r#"{"do":"fetch"}"#), &[("token", TOKEN)]);
    world.host.create(ask).await.expect("reports");
    assert_eq!(scan.found(), [], "another instance");
    assert_eq!(scan.operations(), [Operation::Describe, Operation::Create, Operation::Create]);
    assert!(scan.seen.lock().unwrap().iter().all(|(_, bytes)| *bytes >= 65_536));
}

#[tokio::test]
async fn the_memory_of_a_broken_call_is_shown_too() {
    let scan = Scan::for_values(&[("token", TOKEN)]);
    let world = scan.world();
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    world.ready(Map::new("hostile", hostile).data("grants.yaml", "reveal: [token]")).await;
    let spec = r#"{"do":"reveal","then":"trap"}"#;
    let ask = with_secrets(request("hostile", spec), &[("token", TOKEN)]);
    let _either_way = world.host.create(ask).await;
    assert_eq!(scan.found(), [(Operation::Create, "token")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_secret_is_ever_in_the_memory_of_the_simulated_clouds_driver() {
    let mut config = simcloud::Config { latency: simcloud::Latency::ZERO, ..simcloud::Config::default() };
    config.accounts[0].tokens[0].token = TOKEN.to_owned();
    let cloud = simcloud::Server::start(config).expect("starts");
    let scan = Scan::for_values(&[
        ("token", TOKEN),
        ("user data", USER_DATA),
        ("bootstrap", "canary.0123456789abcdef"),
    ]);
    let world = scan.world();
    let grants =
        include_str!("../../../../plugins/sim/grants.yaml").replace("PORT", &cloud.addr().port().to_string());
    let map = Map::new("sim", guests::bytes("sim-driver").expect("the driver builds"))
        .data("grants.yaml", &grants)
        .data("settings.json", &format!(r#"{{"endpoint":"{}"}}"#, cloud.url()));
    world.ready(map).await;

    let spec = r#"{"zone":"sim-1a","type":"sim.small","image":"linux-1"}"#;
    let ask = || with_secrets(request("sim", spec), &[("token", TOKEN)]);
    let created = world.host.create(ask()).await;
    let Ok(Creation::Created(vm)) = created else { panic!("{created:?}") };
    assert!(cloud.live_vms().len() == 1, "the request arrived with its secrets");
    let mut known = ask();
    known.machine.provider_id = Some(vm.provider_id);
    world.host.get_status(known.clone()).await.expect("is there");
    let list = ListRequest {
        class: class("sim", spec),
        cluster: "cluster-1".to_owned(),
        token: None,
        secrets: secrets(&[("token", TOKEN)]),
    };
    assert_eq!(world.host.list(list).await.expect("lists").machines.len(), 1);
    world.host.delete(known).await.expect("goes");
    assert_eq!(scan.found(), []);
    let expected =
        [Operation::Describe, Operation::Create, Operation::GetStatus, Operation::List, Operation::Delete];
    assert_eq!(scan.operations(), expected);
}

/// Answers one request with what it got: an error page that echoes the request, as S3 and some proxies write it.
fn echo() -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a request");
        let mut got = Vec::new();
        let mut piece = [0; 4096];
        while !got.ends_with(b"Action=A") {
            let length = stream.read(&mut piece).expect("reads");
            assert!(length > 0, "the request is whole");
            got.extend_from_slice(&piece[..length]);
        }
        let got = String::from_utf8(got).expect("text");
        let answer = format!(
            "HTTP/1.1 403 Forbidden\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{got}",
            got.len()
        );
        stream.write_all(answer.as_bytes()).expect("writes");
        got
    });
    (port, served)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_and_no_signature_is_in_the_memory_of_a_driver_whose_request_was_signed() {
    const ACCESS: &str = "AKIACANARYCANARY0001";
    const SECRET: &str = "canary/secret+access/key0123456789abcdef";
    let scan =
        Scan::for_values(&[("access key", ACCESS), ("secret key", SECRET), ("signature", "Signature=0")]);
    let (port, served) = echo();
    let world = scan.world();
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    let grants = format!(
        "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}]\n\
         auth: [{{ scheme: aws-sigv4, services: [ec2] }}]"
    );
    world.ready(Map::new("hostile", hostile).data("grants.yaml", &grants)).await;
    let spec = serde_json::json!({
        "do": "fetch",
        "url": format!("http://127.0.0.1:{port}/"),
        "method": "POST",
        "headers": { "machinist-auth": "aws-sigv4; service=ec2; region=eu-west-1" },
        "body": "Action=A",
    });
    let keys = [("providerAccessKeyId", ACCESS), ("providerSecretAccessKey", SECRET)];
    let answer = world.host.create(with_secrets(request("hostile", &spec.to_string()), &keys)).await;
    let sent = served.join().expect("was asked");
    assert!(sent.contains(&format!("Credential={ACCESS}/")), "{sent}");
    let signature = sent.split("Signature=").nth(1).and_then(|rest| rest.get(..64)).expect("a signature");
    let outputs = format!("{answer:?}");
    assert!(outputs.contains("Signature=***"), "the echo came back: {outputs}");
    assert!(!outputs.contains(signature) && !outputs.contains(ACCESS), "{outputs}");
    assert_eq!(scan.found(), []);
}

const CLIENT_SECRET: &str = "canary~client/secret-0a1b2c3d4e5f";
const LIVE: &str = "ya29.canary0AfH6SMBx7Qk2Zt9Lw";

/// A cloud that keeps all values, gives tokens, and shows all of them to every client, in several spellings.
fn gossip() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let mut kept = String::new();
        for mut stream in listener.incoming().flatten() {
            let Some(request) = whole_request(&mut stream) else { continue };
            kept.push_str(&request);
            let body = if request.starts_with("POST /token") {
                format!(r#"{{"access_token":"{LIVE}","token_type":"Bearer","expires_in":3600}}"#)
            } else {
                in_several_spellings(&kept)
            };
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length:";
            let _gone = stream.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes());
        }
    });
    port
}

fn in_several_spellings(text: &str) -> String {
    let json = serde_json::to_string(text).expect("JSON");
    let twice = serde_json::to_string(&json).expect("JSON");
    let encoded = STANDARD.encode(text);
    let lines: Vec<_> = encoded.as_bytes().chunks(76).map(String::from_utf8_lossy).collect();
    [text, &json, &twice, &lines.join("\r\n"), &text.to_uppercase()].join("\n--\n")
}

fn whole_request(stream: &mut std::net::TcpStream) -> Option<String> {
    let mut got = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let length = stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        got.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&got).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_lowercase().split("content-length: ").nth(1).map(str::to_owned);
        let length = length.and_then(|rest| rest.lines().next()?.parse().ok()).unwrap_or(0);
        if body.len() >= length {
            return Some(text);
        }
    }
}

/// One call after the other, of two Machines with Secrets of their own: none reads back what another has sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attack_a_sequence_of_all_calls_reads_back_what_others_have_sent() {
    const OTHER_TOKEN: &str = "canary-other-token-77aa55ee";
    let canaries = [
        ("token", TOKEN),
        ("other token", OTHER_TOKEN),
        ("user data", USER_DATA),
        ("bootstrap", "canary.0123456789abcdef"),
        ("bootstrap in capitals", "CANARY.0123456789ABCDEF"),
        ("client secret", CLIENT_SECRET),
        ("live token", LIVE),
    ];
    let scan = Scan::for_values(&canaries);
    let folder = tempfile::tempdir().expect("a folder");
    let mut host_settings = settings();
    host_settings.memory_inspector = Some(scan.clone());
    let record = machinist_plugin_host::RecordSettings {
        folder: folder.path().to_owned(),
        plugins: Default::default(),
        limit_bytes: 64 << 20,
    };
    host_settings.record = Some(record);
    let world = Fixture::with(host_settings);
    let port = gossip();
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    let grants = format!(
        "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}]\n\
         secrets: [{{ key: token, places: [{{ header: x-token }}] }}, {{ key: userData, places: [{{ json: /u }}] }}]\n\
         auth: [{{ scheme: oauth2-client-credentials, hosts: [127.0.0.1], token-url: 'http://127.0.0.1:{port}/token' }}]"
    );
    let map = Map::new("hostile", hostile).data("grants.yaml", &grants);
    world.ready(map.data("settings.json", r#"{"initialize":true}"#)).await;

    let url = format!("http://127.0.0.1:{port}/");
    let marked = serde_json::json!({
        "do": "fetch", "method": "POST", "url": url, "keep": 8_000,
        "headers": { "content-type": "application/json", "x-token": "{{t}}", "machinist-auth": "oauth2-client-credentials" },
        "body": r#"{"u":"{{d}}"}"#,
        "placeholders": { "t": { "key": "token" }, "d": { "user-data": true, "encodings": ["json-escape"] } },
    })
    .to_string();
    let read = serde_json::json!({ "do": "fetch", "url": url, "keep": 8_000 }).to_string();
    // A report is too long for a name in a listing, and not for a message.
    let read_and_fail = serde_json::json!({ "do": "fetch", "url": url, "then": "error" }).to_string();
    let first = [("token", TOKEN), ("clientID", "the-client"), ("clientSecret", CLIENT_SECRET)];
    let sends = with_secrets(request("hostile", &marked), &first);
    // Another Machine of the plugin, with a Secret of its own and no user data.
    let reads = |own: &str| {
        let mut ask = with_secrets(request("hostile", &read), &[("token", own)]);
        ask.secrets.user_data = None;
        ask.machine.provider_id = Some("hostile:///uid-1".into());
        ask
    };
    let mut outputs = vec![format!("{:?}", world.host.create(sends.clone()).await.expect("reports"))];
    outputs.push(format!("{:?}", world.host.initialize(sends).await.expect("reports")));
    for own in [TOKEN, OTHER_TOKEN] {
        outputs.push(format!("{:?}", world.host.get_status(reads(own)).await.expect("reports")));
        outputs.push(format!("{:?}", world.host.initialize(reads(own)).await.expect("reports")));
        let list = ListRequest {
            class: class("hostile", &read_and_fail),
            cluster: "cluster-1".to_owned(),
            token: None,
            secrets: reads(own).secrets,
        };
        outputs.push(format!("{:?}", world.host.list(list).await.expect_err("reports")));
        outputs.push(format!("{:?}", world.host.delete(reads(own)).await.expect("reports")));
    }
    world.host.shutdown().await;
    assert_eq!(scan.found(), []);
    let operations: std::collections::BTreeSet<Operation> = scan.operations().into_iter().collect();
    let expected =
        [Operation::Create, Operation::Initialize, Operation::Delete, Operation::GetStatus, Operation::List];
    assert!(expected.iter().all(|operation| operations.contains(operation)), "{operations:?}");
    assert!(outputs.iter().all(|outputs| outputs.contains("***")), "each was shown the echo: {outputs:#?}");
    let recordings = machinist_plugin_host::read_recordings(folder.path()).expect("recordings");
    assert!(recordings.len() >= outputs.len(), "{}", recordings.len());
    for (path, _) in &recordings {
        outputs.push(std::fs::read_to_string(path).expect("text"));
    }
    for (text, (name, value)) in
        outputs.iter().flat_map(|text| canaries.iter().map(move |canary| (text, canary)))
    {
        assert!(!text.contains(value) && !text.contains(&value.to_uppercase()), "{name} in {text}");
        assert!(!text.contains(STANDARD.encode(value).trim_end_matches('=')), "{name} in {text}");
    }
}
