//! Attacks of a writer of ConfigMaps without a key, where plugins must be signed: the operator's signed component with
//! unsigned texts.

use std::sync::Arc;

use futures::future::BoxFuture;
use machinist_artifacts::{Bundle, Keyring, SigningKey};
use machinist_core::driver::SecretValues;
use machinist_plugin_host::{CounterStore, Digest, Grants, GrantsCeiling, HostSettings, Required, Trust};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::fixture::{Fixture, Map, marked, plain, request, settings, signed};

const CLIENT_SECRET: &str = "canary-client-secret-1";

fn strict(key: &SigningKey, change: impl FnOnce(&mut HostSettings)) -> Fixture {
    let mut settings = settings();
    let keys = Keyring::parse("operator", &key.public_pem()).expect("keys");
    settings.trust = Trust { keys, required: Required::Everywhere };
    change(&mut settings);
    Fixture::with(settings)
}

fn key() -> SigningKey {
    SigningKey::generate().expect("a key")
}

/// A token service of the attacker, and what it was shown.
async fn thief() -> (u16, Arc<std::sync::Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let shown = Arc::new(std::sync::Mutex::new(String::new()));
    let heard = Arc::clone(&shown);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = vec![0; 16 << 10];
            let count = stream.read(&mut bytes).await.unwrap_or_default();
            heard.lock().expect("no panic").push_str(&String::from_utf8_lossy(&bytes[..count]));
            let _answered =
                stream.write_all(b"HTTP/1.1 400 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
        }
    });
    (port, shown)
}

fn hostile(grants: &str) -> Map {
    let component = guests::bytes("hostile-driver").expect("the driver builds");
    Map::new("hostile", component).data("grants.yaml", grants)
}

/// A call that makes the host show the client's secret to the token service of the grants.
async fn steal(world: &Fixture, port: u16) {
    let spec = json!({
        "do": "fetch", "url": format!("http://127.0.0.1:{port}/"),
        "headers": { "machinist-auth": "oauth2-client-credentials" },
    });
    let mut request = request("hostile", &spec.to_string());
    let secrets = [("clientID", "client-1"), ("clientSecret", CLIENT_SECRET)];
    request.secrets = SecretValues {
        values: secrets.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).into(),
        ..SecretValues::default()
    };
    let _refused = world.host.create(request).await;
}

fn token_grants(port: u16) -> String {
    format!(
        "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}]\n\
         auth: [{{ scheme: oauth2-client-credentials, hosts: [127.0.0.1], token-url: 'http://127.0.0.1:{port}/token', \
         client-auth: form }}]"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_second_configmap_with_the_signed_component_and_other_grants_gets_no_client_secret() {
    let (key, (port, shown)) = (key(), thief().await);
    let world = strict(&key, |_| {});
    world.ready(signed(hostile("{}"), &key, &["hostile"], 1)).await;
    let bare = key.sign_blob(&guests::bytes("hostile-driver").expect("the driver builds")).expect("signed");
    let second = |map: Map| {
        let mut map =
            map.plugin("hostile").annotation("machinist.dev/plugin-version", "99.0.0").created(1_900_000_000);
        map.0.name = "second".to_owned();
        map
    };
    // With the signature over the component alone.
    let stolen = second(hostile(&token_grants(port))).data("signature", &bare);
    let reason = world.rejected(stolen).await;
    assert!(
        reason.contains("here only the component is") && reason.contains("plugin sign --configmap"),
        "{reason}"
    );
    // With the bundle of the first one.
    let mut stolen = second(signed(hostile("{}"), &key, &["hostile"], 1));
    stolen.0.data.insert("grants.yaml".to_owned(), token_grants(port));
    let reason = world.rejected(stolen).await;
    assert!(reason.contains("for another grants.yaml: put back what was signed"), "{reason}");
    steal(&world, port).await;
    assert_eq!(*shown.lock().expect("no panic"), "");
    // The same grants, signed: so the attack would have worked.
    let reason = world.declare(second(signed(hostile(&token_grants(port)), &key, &["hostile"], 1))).await;
    assert_eq!(reason.state, machinist_plugin_host::PluginState::Ready, "{reason:?}");
    steal(&world, port).await;
    assert!(shown.lock().expect("no panic").contains(CLIENT_SECRET));
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_what_was_not_signed_beside_a_signed_component_is_rejected_and_named() {
    let key = key();
    let world = strict(&key, |_| {});
    let map = || Map::plain("plain", "1.0.0", &["plain"]).data("grants.yaml", "{}");
    let good = || signed(map(), &key, &["plain"], 5);
    let report = world.ready(good()).await;
    assert_eq!(report.signer.as_deref(), Some("operator"));
    let bundle = report.bundle.expect("it is signed as one");
    assert_eq!(bundle.counter, 5);
    let covers = ["component", "plugin name", "kind", "grants.yaml", "settings.json", "providers"];
    assert_eq!(bundle.covers, covers);
    let endpoint = json!({ "version": "1.0.0", "providers": ["plain"], "endpoint": "https://evil.example" });
    for (changed, expected) in [
        (good().data("settings.json", &endpoint.to_string()), "for another settings.json:"),
        (good().data("grants.yaml", "egress: []"), "for another grants.yaml:"),
        (good().plugin("renamed"), "for another plugin name:"),
        (good().binary("plugin.wasm", marked(&plain(), "evil")), "for another component:"),
    ] {
        let reason = world.rejected(changed).await;
        assert!(reason.contains(expected) && reason.contains("put back what was signed"), "{reason}");
    }
    let mut without = good();
    without.0.data.remove("grants.yaml");
    assert!(world.rejected(without).await.contains("for another grants.yaml:"));
    let mut half = good();
    half.0.data.remove("bundle.sig");
    assert!(world.rejected(half).await.contains("there is bundle.json without bundle.sig"));
    assert_eq!(world.version("plain").await, "1.0.0", "what was signed goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_driver_that_serves_another_provider_than_was_signed_is_rejected() {
    let key = key();
    let world = strict(&key, |_| {});
    // Its settings are signed; what it makes of them was not looked at.
    let reason =
        world.rejected(signed(Map::plain("plain", "1.0.0", &["plain", "aws"]), &key, &["plain"], 1)).await;
    assert!(reason.contains("it claims provider aws, and its bundle was signed for plain only"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_bundle_by_a_second_key_that_is_not_trusted_is_rejected() {
    let (ours, theirs) = (key(), key());
    let world = strict(&ours, |_| {});
    let map = || Map::plain("plain", "1.0.0", &["plain"]);
    let reason = world.rejected(signed(map(), &theirs, &["plain"], 1)).await;
    assert!(
        reason.contains("signature of its bundle is not accepted: none of the 1 trusted keys"),
        "{reason}"
    );
    // One that is trusted and one that is not: the text of one does not go with the signature of the other.
    let mut mixed = signed(map(), &ours, &["plain"], 1);
    let other = signed(map(), &theirs, &["plain"], 2);
    mixed.0.data.insert("bundle.json".to_owned(), other.0.data["bundle.json"].clone());
    assert!(world.rejected(mixed).await.contains("not accepted"));
    world.ready(signed(map(), &ours, &["plain"], 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_an_old_signed_version_does_not_come_back() {
    let key = key();
    let world = strict(&key, |_| {});
    let version = |name: &str, version: &str, counter| {
        signed(Map::plain(name, version, &["plain"]).plugin("plain"), &key, &["plain"], counter)
    };
    world.ready(version("one", "1.0.0", 1)).await;
    world.ready(version("two", "2.0.0", 2).created(1_800_000_100)).await;
    let displaced = world.report(&version("one", "1.0.0", 1).id());
    assert!(displaced.reason.is_some_and(|reason| reason.contains("counter 1")), "it has gone");
    // In another ConfigMap, as the newest, and after the later one is gone.
    let replayed = version("three", "1.0.0", 1).created(1_900_000_000);
    let reason = world.rejected(replayed).await;
    for part in ["counter 1", "has served with 2", "at least 2", "next attempt"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    world.host.withdraw(version("two", "2.0.0", 2).id()).await;
    assert!(world.create("plain", "{}").await.is_err(), "nothing that was replaced serves");
    // The operator signs it again.
    world.ready(version("four", "1.0.0", 3)).await;
    assert_eq!(world.version("plain").await, "1.0.0");
}

/// A store as it is after a host has ended: a restore of the plugins' namespace leaves it alone.
struct Kept(std::sync::Mutex<Option<u64>>);

impl CounterStore for Kept {
    fn highest(&self, kind: &'static str, plugin: &str) -> BoxFuture<'_, Result<Option<u64>, String>> {
        assert_eq!((kind, plugin), ("driver", "plain"));
        Box::pin(std::future::ready(Ok(*self.0.lock().expect("no panic"))))
    }

    fn raise(&self, _: &'static str, _: &str, counter: u64) -> BoxFuture<'_, Result<(), String>> {
        *self.0.lock().expect("no panic") = Some(counter);
        Box::pin(std::future::ready(Ok(())))
    }

    fn place(&self, _: &'static str, _: &str) -> String {
        "the store".to_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_a_restore_of_the_plugins_brings_no_old_version_back() {
    let (key, store) = (key(), Arc::new(Kept(std::sync::Mutex::new(None))));
    let host = || strict(&key, |settings| settings.counters = Some(store.clone()));
    let map = |counter| signed(Map::plain("plain", "1.0.0", &["plain"]), &key, &["plain"], counter);
    let before = host();
    before.ready(map(7)).await;
    for _ in 0..100 {
        if store.0.lock().expect("no panic").is_some() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(*store.0.lock().expect("no panic"), Some(7));
    drop(before);
    let after = host();
    let reason = after.rejected(map(6)).await;
    assert!(reason.contains("an administrator lower the store"), "{reason}");
    after.ready(map(7)).await;
    // An administrator who lowers the number brings the older version back, once no host with the later one is left.
    let lowered = Arc::new(Kept(std::sync::Mutex::new(Some(6))));
    strict(&key, |settings| settings.counters = Some(lowered)).ready(map(6)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_grants_beyond_the_ceiling_are_rejected_signed_or_not() {
    let key = key();
    let ceiling = |text: &str| Some(Arc::new(GrantsCeiling::of_all(Grants::parse(text).expect("a ceiling"))));
    let text = "egress: [{ host: api.example }]\nproviders: [plain]";
    let map = |grants: &str| Map::plain("plain", "1.0.0", &["plain"]).data("grants.yaml", grants);
    let (narrow, wide) =
        ("egress: [{ host: api.example, methods: [GET] }]", "egress: [{ host: evil.example }]");
    for (name, world) in [
        ("signed", strict(&key, |settings| settings.grants_ceiling = ceiling(text))),
        ("free", {
            let mut settings = settings();
            settings.grants_ceiling = ceiling(text);
            Fixture::with(settings)
        }),
    ] {
        let reason = world.rejected(signed(map(wide), &key, &["plain"], 1)).await;
        let expected =
            "exceed the ceiling of the host (--grants-ceiling): egress[0]: it grants no host evil.example";
        assert!(reason.contains(expected), "{name}: {reason}");
        world.ready(signed(map(narrow), &key, &["plain"], 1)).await;
        // The component alone is signed, and what it may do is bounded: that is enough under a ceiling.
        let bare = key.sign_blob(&plain()).expect("signed");
        let other = |providers: &[&str]| {
            Map::plain("other", "1.0.0", providers).data("grants.yaml", narrow).data("signature", &bare)
        };
        let reason = world.rejected(other(&["evil"])).await;
        assert!(reason.contains("it claims provider evil, and the ceiling of the host"), "{name}: {reason}");
        let report = world.declare(other(&["plain"])).await;
        assert!(
            report.reason.is_some_and(|reason| reason.contains("provider plain is served by plugin plain"))
        );
    }
    let bounded = strict(&key, |settings| settings.grants_ceiling = ceiling(text));
    let bare = key.sign_blob(&plain()).expect("signed");
    let report = bounded.ready(map(narrow).data("signature", &bare)).await;
    assert_eq!((report.signer.as_deref(), report.bundle), (Some("operator"), None));
    // A plugin that has served with a bundle takes no version without one.
    bounded.ready(signed(map(narrow), &key, &["plain"], 1)).await;
    let reason = bounded.rejected(map("{}").data("signature", &bare)).await;
    assert!(reason.contains("it has no bundle"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_texts_that_are_no_bundle_are_rejected_with_a_reason() {
    let key = key();
    let world = strict(&key, |_| {});
    let map = || Map::plain("plain", "1.0.0", &["plain"]);
    let good = signed(map(), &key, &["plain"], 1).0.data["bundle.json"].clone();
    for (text, expected) in [
        (good[..50].to_owned(), "not the JSON of a bundle"),
        (good.replacen("\"counter\":1", "\"counter\":1,\"counter\":2", 1), "each field once"),
        (good.replacen(':', " :", 1), "canonical form"),
        ("[".repeat(500_000), "16384 are the most"),
        ("\u{1b}[2J\u{202e}".to_owned(), "not the JSON of a bundle"),
    ] {
        let signature = key.sign_blob(text.as_bytes()).expect("signed");
        let reason = world.rejected(map().data("bundle.json", &text).data("bundle.sig", &signature)).await;
        assert!(reason.contains(expected), "{reason}");
        assert!(reason.len() < 1_000 && !reason.contains(['\u{1b}', '\u{202e}']), "{reason:?}");
    }
    let unsigned = map().data("bundle.json", &good).data("bundle.sig", &"A".repeat(100_000));
    assert!(world.rejected(unsigned).await.contains("not base64"));
    let bundle = Bundle::parse(&good).expect("a bundle");
    assert_eq!(bundle.parts.component.to_string(), Digest::of(&plain()).to_string());
}
