//! Attacks of a writer of ConfigMaps without access to Secrets: reasons that control a terminal or fill an object, and
//! references that make the host send requests.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use machinist_plugin_host::LoopbackRegistries;

use crate::fixture::{Fixture, Map};

/// A component with nothing but its imports, and one of them under the name of a driver's interface.
fn importing(names: &[String]) -> Vec<u8> {
    let mut section = leb(names.len());
    for name in names {
        section.push(0);
        section.extend(leb(name.len()));
        section.extend(name.as_bytes());
        // A function of type 0, which is not checked before the names are known.
        section.extend([1, 0]);
    }
    let mut component = b"\0asm\x0d\0\x01\0".to_vec();
    let driver = b"machinist:provider/driver@0.1.0";
    let export =
        [&[1, 0, u8::try_from(driver.len()).expect("a short name")], driver.as_slice(), &[1, 0, 0]].concat();
    for (id, section) in [(10, section), (11, export)] {
        component.push(id);
        component.extend(leb(section.len()));
        component.extend(section);
    }
    component
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).expect("seven bits");
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

fn is_for_people(text: &str) -> bool {
    text.len() < 5_000 && !text.contains(|c: char| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c))
}

#[tokio::test]
async fn attack_names_of_a_component_forge_a_status() {
    let world = Fixture::new();
    let forged = "x\u{1b}[2J\u{1b}[31m\nCONFIGMAP aws READY yes\u{202e}".to_owned();
    let reason = world.rejected(Map::new("aws", importing(&[forged]))).await;
    assert!(reason.contains("it imports what this host does not offer: x\\u{1b}[2J"), "{reason}");
    assert!(is_for_people(&reason), "{reason:?}");
    let long = |n: usize| format!("{n}{}", "\u{9b}".repeat(45_000));
    let names: Vec<String> = (0..30).map(long).collect();
    let reason = world.rejected(Map::new("aws", importing(&names))).await;
    assert!(is_for_people(&reason), "{} bytes", reason.len());
    assert!(reason.contains("and 20 more"), "{reason}");
}

#[tokio::test]
async fn attack_texts_beside_a_component_forge_a_status() {
    let world = Fixture::new();
    let misbehaving = format!("\u{1b}]0;owned\u{7}\n{}", "x".repeat(100_000));
    let json = serde_json::Value::String(misbehaving.clone()).to_string();
    for (key, text) in [
        ("grants.yaml", format!("egress: [{{ host: {json} }}]")),
        ("grants.yaml", format!("{{ {json}: 1 }}")),
        ("rollout.yaml", format!("{{ mode: {json} }}")),
        ("sha256", misbehaving.clone()),
        ("signature", misbehaving.clone()),
        ("oci", misbehaving.clone()),
    ] {
        let map = Map::plain("plain", "1.0.0", &["plain"]).data(key, &text);
        let report = world.declare(if key == "oci" { map.without("plugin.wasm") } else { map }).await;
        let texts: Vec<&String> = report.reason.iter().chain(&report.warnings).collect();
        // A signature that no rule requires is not checked.
        assert!(!texts.is_empty() || key == "signature", "{key}");
        assert!(texts.iter().all(|text| is_for_people(text)), "{key}: {texts:?}");
    }
    // The status of an earlier host may have been written by anyone.
    let world = Fixture::new();
    let map = || Map::plain("plain", "1.0.0", &["plain"]);
    let digest = world.ready(map()).await.digest.expect("a digest");
    let content = world.report(&map().id()).content.expect("a content").to_string();
    let status = serde_json::json!({
        "content": content,
        "rollout": { "digest": digest.to_string(), "decision": "withdrawn", "reason": misbehaving },
    });
    let report = world.declare(map().annotation("machinist.dev/status", &status.to_string())).await;
    assert!(is_for_people(report.reason.as_deref().expect("it is withdrawn")), "{:?}", report.reason);
    let refusal = world.create("plain", "{}").await.expect_err("it was withdrawn").to_string();
    assert!(is_for_people(&refusal), "{refusal:?}");
}

/// A program beside the host that is no registry, and how often it was connected to.
fn neighbour() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counter.fetch_add(1, Ordering::SeqCst);
            let _asked = stream.read(&mut [0; 8192]);
            let body = "internal: db password is hunter2!!";
            let head =
                format!("HTTP/1.1 500 Oops\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _answered = stream.write_all(&[head.as_bytes(), body.as_bytes()].concat());
        }
    });
    (address, asked)
}

fn naming(reference: &str) -> Map {
    Map::plain("plain", "1.0.0", &["plain"]).without("plugin.wasm").data("oci", reference)
}

#[tokio::test]
async fn attack_a_reference_asks_programs_beside_the_host() {
    let (address, asked) = neighbour();
    let world = Fixture::cold(|settings| settings.loopback_registries = LoopbackRegistries::Refused);
    let port = address.rsplit(':').next().expect("a port");
    for host in ["127.0.0.1", "localhost", "127.0.0.2", "[::1]"] {
        let reason = world.rejected(naming(&format!("{host}:{port}/a/b:1"))).await;
        assert!(reason.contains("--allow-loopback-registries"), "{host}: {reason}");
        assert!(!reason.contains("next attempt"), "no other attempt ends otherwise: {reason}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn attack_a_reference_shows_what_a_program_beside_the_host_says() {
    let (address, asked) = neighbour();
    let world = Fixture::cold(|_| {});
    let reason = world.rejected(naming(&format!("{address}/a/b:1"))).await;
    assert!(reason.contains("answers 500 to manifest a/b:1") && !reason.contains("hunter2"), "{reason}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn attack_a_reference_asks_a_metadata_service() {
    let world = Fixture::cold(|settings| settings.registry.connect = Duration::from_secs(2));
    for host in ["169.254.169.254", "169.254.1.1:80", "[fd00:ec2::254]:443", "100.100.100.200"] {
        let reason = world.rejected(naming(&format!("{host}/latest/meta-data:1"))).await;
        assert!(reason.contains("is not asked: it is at a"), "{host}: {reason}");
    }
}
