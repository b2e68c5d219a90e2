//! Components in a real registry: pinned, signed, and never at the cost of what serves.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use machinist_artifacts::signature::cosign::{self, Beside};
use machinist_artifacts::{Bundle, ContentDigest, Keyring, Limits, Reference, Registry, SigningKey};
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::status::PluginStatus;
use machinist_plugin_host::{HostSettings, PluginReport, PullSecrets, Required, Trust};
use registry::{Door, Liar, Lie, PASSWORD, USER};

use crate::fixture::{Fixture, Map, marked, plain, settings, settings_in, signed};

struct Shop {
    registry: registry::Registry,
    client: Registry,
}

async fn shop(door: Door) -> Shop {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let started = tokio::task::spawn_blocking(move || registry::Registry::start(door));
    Shop {
        registry: started.await.unwrap().unwrap(),
        client: Registry::new(Limits::default(), |_| Ok(())).unwrap(),
    }
}

impl Shop {
    fn reference(&self, tag: &str) -> Reference {
        format!("{}/acme/plain:{tag}", self.registry.address()).parse().unwrap()
    }

    /// The plain driver with this mark under this tag.
    async fn push(&self, tag: &str, mark: &str) -> ContentDigest {
        let component = Bytes::from(marked(&plain(), mark));
        self.client.push(&self.reference(tag), &component, &[], &[], None).await.unwrap()
    }

    async fn sign(&self, digest: ContentDigest, key: &SigningKey) {
        let reference = self.reference("1");
        let signed = cosign::sign(key, &reference, digest).unwrap();
        self.client.push_signature(&reference, digest, &signed, None).await.unwrap();
    }
}

fn map(reference: &(impl ToString + ?Sized)) -> Map {
    Map::plain("plain", "1.0.0", &["plain"])
        .without("plugin.wasm")
        .data(PluginKeys::OCI_KEY, &reference.to_string())
}

fn pin(report: &PluginReport) -> ContentDigest {
    report.resolved.as_ref().expect("it is resolved").manifest
}

/// The ConfigMap with what the host has written onto it.
fn with_status(mut map: Map, report: &PluginReport) -> Map {
    let resolved = PluginStatus::from(report).resolved;
    assert!(resolved.is_some(), "it is resolved");
    let status = PluginStatus { resolved, ..PluginStatus::default() };
    map.0.annotations.insert(PluginKeys::STATUS_ANNOTATION.to_owned(), status.to_json());
    map
}

fn asking(mut map: Map, asked: &str) -> Map {
    map.0.annotations.insert(PluginKeys::RESOLVE_ANNOTATION.to_owned(), asked.to_owned());
    map
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_in_a_registry_serves_and_its_tag_is_resolved_once() {
    let (world, shop) = (Fixture::new(), shop(Door::Open).await);
    let first = shop.push("1", "first").await;
    let report = world.ready(map(&shop.reference("1"))).await;
    assert_eq!(pin(&report), first);
    assert_eq!(world.version("plain").await, "1.0.0");
    // The tag moves: neither this host, nor one that starts with what it has written, follows.
    let second = shop.push("1", "second").await;
    let same = world.ready(with_status(map(&shop.reference("1")), &report)).await;
    assert_eq!(
        (pin(&same), same.held.as_ref().unwrap().generation),
        (first, report.held.unwrap().generation)
    );
    let other = Fixture::cold(|_| {});
    assert_eq!(pin(&other.ready(with_status(map(&shop.reference("1")), &same)).await), first);
    // Other settings do not cause another resolution either.
    let settings = serde_json::json!({ "version": "1.0.1", "providers": ["plain"] }).to_string();
    let changed = world.ready(map(&shop.reference("1")).data("settings.json", &settings)).await;
    assert_eq!(pin(&changed), first);
    assert_eq!(world.version("plain").await, "1.0.1");
    let again = world.ready(asking(with_status(map(&shop.reference("1")), &same), "2")).await;
    assert_eq!(pin(&again), second);
    // A host that waits takes over what the leader has resolved.
    assert_eq!(pin(&other.ready(with_status(asking(map(&shop.reference("1")), "2"), &again)).await), second);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_is_pinned_by_its_digest() {
    let (world, shop) = (Fixture::new(), shop(Door::Open).await);
    let digest = shop.push("1", "pinned").await;
    shop.push("1", "moved").await;
    assert_eq!(pin(&world.ready(map(&shop.reference("1").at(digest))).await), digest);
    let other = machinist_plugin_host::Digest::of(b"another component").to_string();
    let reason = world.rejected(map(&shop.reference("1")).data("sha256", &other)).await;
    assert!(reason.contains("and sha256 says"), "{reason}");
    assert_eq!(world.version("plain").await, "1.0.0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_answer_of_a_registry_does_not_replace_the_serving_version() {
    let shop = shop(Door::Open).await;
    let world = Fixture::cold(|settings| {
        settings.registry.silence = Duration::from_secs(2);
        settings.registry.question = Duration::from_secs(2);
        settings.registry.transfer = Duration::from_secs(5);
    });
    shop.push("1", "good").await;
    let good = world.ready(map(&format!("{}/acme/plain:1", shop.registry.address()))).await;
    for (tag, path, lie, expected) in [
        ("2", "/manifests/2", Lie::Bytes, "answers other bytes than were asked for"),
        ("3", "/blobs/", Lie::Bytes, "answers other bytes than were asked for"),
        ("4", "/manifests/4", Lie::Silence, "is too slow"),
        ("5", "/blobs/", Lie::Drip, "is too slow"),
        ("6", "/manifests/6", Lie::Flood, "more than 262144 bytes"),
        ("7", "/blobs/", Lie::Flood, "more than 67108864 bytes"),
    ] {
        shop.push(tag, tag).await;
        // Each lies for ever: the host asks again after a while.
        let liar = Liar::start(shop.registry.address()).await.unwrap();
        liar.lie(path, lie);
        let reason = world.rejected(map(&format!("{}/acme/plain:{tag}", liar.address()))).await;
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(world.version("plain").await, "1.0.0", "what served before serves on");
    }
    let reason = world.rejected(map("127.0.0.1:1/acme/plain:1")).await;
    assert!(
        reason.contains("failed to reach registry 127.0.0.1:1") && reason.contains("next attempt"),
        "{reason}"
    );
    let id = map("x").id();
    assert_eq!(world.report(&id).held.unwrap().generation, good.held.unwrap().generation);
}

/// A registry that answers every question about manifests with an index.
fn registry_of_indices(index: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _asked = stream.read(&mut [0; 8192]);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.oci.image.index.v1+json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                index.len()
            );
            let _answered = stream.write_all(&[head.as_bytes(), index.as_bytes()].concat());
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_bomb_is_refused_and_what_serves_serves_on() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let world = Fixture::new();
    world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;
    let index = |entries: &[serde_json::Value]| {
        serde_json::json!({ "schemaVersion": 2, "manifests": entries }).to_string()
    };
    let leads_to = |media_type: &str| {
        serde_json::json!({ "mediaType": media_type, "digest": ContentDigest::of(b"x").to_string(), "size": 2,
                            "platform": { "architecture": "wasm", "os": "wasip2" } })
    };
    let manifest = "application/vnd.oci.image.manifest.v1+json";
    let deep = "application/vnd.oci.image.index.v1+json";
    for (index, expected) in [
        (index(&vec![leads_to(manifest); 500]), "500 manifests"),
        (index(&[leads_to(manifest), leads_to(manifest)]), "names 2 manifests for wasm"),
        (index(&[leads_to(deep)]), "leads to another index"),
        (index(&[leads_to(manifest)]), "answers other bytes than were asked for"),
        ("[".repeat(100_000), "the manifest cannot be read"),
        (index(&[]), "names 0 manifests for wasm"),
    ] {
        let reference = format!("{}/acme/plain:1", registry_of_indices(index));
        let map = Map::plain("plain", "6.6.6", &["plain"]).without("plugin.wasm").data("oci", &reference);
        let reason = world.rejected(map).await;
        assert!(reason.contains(expected), "{expected}: {reason}");
        assert_eq!(world.version("plain").await, "1.0.0", "what served before serves on");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_starts_without_its_registry_serves_its_kept_versions() {
    let folder = tempfile::tempdir().unwrap();
    let shop = shop(Door::Open).await;
    let digest = shop.push("1", "kept").await;
    let reference = shop.reference("1");
    let before = Fixture::with(settings_in(folder.path()));
    let report = before.ready(map(&reference)).await;
    drop(before);
    drop(shop);
    let after = Fixture::with(settings_in(folder.path()));
    assert_eq!(pin(&after.ready(with_status(map(&reference), &report)).await), digest);
    assert_eq!(after.version("plain").await, "1.0.0");
}

fn trusting(keys: &SigningKey, change: impl FnOnce(&mut HostSettings)) -> Fixture {
    let mut settings = settings();
    let keys = Keyring::parse("ours", &keys.public_pem()).unwrap();
    settings.trust = Trust { keys, required: Required::In(vec!["machinist".to_owned()]) };
    change(&mut settings);
    Fixture::with(settings)
}

/// A bundle of the ConfigMap and the component of this mark, kept beside the artifact.
async fn bundle_beside(
    shop: &Shop,
    digest: ContentDigest,
    map: &Map,
    (mark, key, counter): (&str, &SigningKey, u64),
) {
    let component = machinist_plugin_host::Digest::of(&marked(&plain(), mark));
    let parts = map.0.declared().unwrap().parts(component);
    let text = Bundle { parts, providers: ["plain".to_owned()].into(), counter }.to_text();
    let signature = key.sign_blob(text.as_bytes()).unwrap();
    let signed = cosign::Signed { payload: text.into_bytes(), signature };
    let reference = shop.reference("1");
    shop.client.push_beside(Beside::Bundles, &reference, digest, &signed, None).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_signatures_are_needed_an_artifact_needs_a_bundle_by_a_trusted_key() {
    let (ours, theirs) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let (world, shop) = (trusting(&ours, |_| {}), shop(Door::Open).await);
    let digest = shop.push("1", "signed").await;
    let reference = shop.reference("1").at(digest);
    let reason = world.rejected(map(&reference)).await;
    assert!(reason.contains("must be signed") && reason.contains("it is not signed"), "{reason}");
    shop.sign(digest, &theirs).await;
    let changed =
        |version: &str| map(&reference).data("settings.json", &format!(r#"{{"version":"{version}"}}"#));
    let reason = world.rejected(changed("1.0.2")).await;
    assert!(reason.contains("none of the 1 trusted keys has made its signature"), "{reason}");
    // Its maker is known, and not what it may do here.
    shop.sign(digest, &ours).await;
    let reason = world.rejected(changed("1.0.3")).await;
    assert!(reason.contains("here only the component is") && reason.contains("next attempt"), "{reason}");
    bundle_beside(&shop, digest, &map(&reference), ("signed", &theirs, 9)).await;
    bundle_beside(&shop, digest, &map(&reference), ("signed", &ours, 1)).await;
    let report = world.ready(map(&reference)).await;
    assert_eq!(
        (report.signer.as_deref(), report.bundle.map(|bundle| bundle.counter)),
        (Some("ours"), Some(1))
    );
    // Of other settings nothing is signed.
    assert!(world.rejected(changed("1.0.4")).await.contains("for another settings.json:"));
    // Kept documents are checked again by the current keys.
    let moved = trusting(&theirs, |_| {});
    assert_eq!(moved.ready(map(&reference)).await.bundle.map(|bundle| bundle.counter), Some(9));
    let nobody = trusting(&SigningKey::generate().unwrap(), |_| {});
    assert!(nobody.rejected(map(&reference)).await.contains("none of the 1 trusted keys"));
    // Elsewhere nothing is asked for.
    let free = trusting(&theirs, |settings| settings.trust.required = Required::In(vec!["other".to_owned()]));
    assert_eq!(free.ready(map(&reference)).await.signer, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_in_the_configmap_is_about_an_artifact_as_well() {
    let ours = SigningKey::generate().unwrap();
    let (world, shop) = (trusting(&ours, |_| {}), shop(Door::Open).await);
    let component = Bytes::from(plain());
    let digest = shop.client.push(&shop.reference("1"), &component, &[], &[], None).await.unwrap();
    let report = world.ready(signed(map(&shop.reference("1").at(digest)), &ours, &["plain"], 3)).await;
    assert_eq!(report.bundle.map(|bundle| bundle.counter), Some(3));
    // The tag moves, and the bundle does not go with it.
    shop.push("1", "other").await;
    let reason = world.rejected(asking(signed(map(&shop.reference("1")), &ours, &["plain"], 3), "2")).await;
    assert!(reason.contains("for another component:"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_signatures_are_needed_a_configmap_needs_a_bundle() {
    let (ours, theirs) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let world = trusting(&ours, |_| {});
    let plain_map = || Map::plain("plain", "1.0.0", &["plain"]);
    let reason = world.rejected(plain_map()).await;
    assert!(reason.contains("must be signed") && !reason.contains("next attempt"), "{reason}");
    let by = |key: &SigningKey| key.sign_blob(&plain()).unwrap();
    let reason = world.rejected(plain_map().data("signature", &by(&theirs))).await;
    assert!(reason.contains("the signature beside it is not accepted"), "{reason}");
    let good = world.ready(signed(plain_map(), &ours, &["plain"], 1)).await;
    assert_eq!(good.signer.as_deref(), Some("ours"));
    // A good bundle does not cover another component, and a bad version does not end a good one.
    let mut other = signed(plain_map(), &ours, &["plain"], 1);
    other.0.binary_data.insert("plugin.wasm".to_owned(), marked(&plain(), "other").into());
    assert!(world.rejected(other).await.contains("for another component:"));
    assert!(world.report(&good.source).serving);
    // Where none is needed, one that is there must still be good.
    let free = trusting(&ours, |settings| settings.trust.required = Required::Nowhere);
    assert!(free.rejected(plain_map().data("signature", &by(&theirs))).await.contains("not accepted"));
    assert!(free.rejected(signed(plain_map(), &theirs, &["plain"], 1)).await.contains("not accepted"));
    assert_eq!(free.ready(plain_map()).await.signer, None);
}

struct Secrets;

impl PullSecrets for Secrets {
    fn read(&self, namespace: &str, name: &str) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        let login = |password: &str| {
            format!(
                r#"{{"auths":{{"127.0.0.1":{{}}, "{name}":{{"username":"{USER}","password":"{password}"}}}}}}"#
            )
        };
        let answer = match (namespace, name) {
            ("machinist", "missing") => Err("it is not there".to_owned()),
            ("machinist", "odd") => Ok(b"hunter2".to_vec()),
            (_, address) => Ok(login(PASSWORD).replace(name, address).into_bytes()),
        };
        Box::pin(std::future::ready(answer))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_registry_is_opened_by_a_secret_beside_the_plugin() {
    let shop = shop(Door::Locked).await;
    let address = shop.registry.address().to_owned();
    let config = format!(r#"{{"auths":{{"{address}":{{"username":"{USER}","password":"{PASSWORD}"}}}}}}"#);
    let logins = machinist_artifacts::Logins::parse(config.as_bytes()).unwrap();
    let reference = shop.reference("1");
    let component = Bytes::from(marked(&plain(), "locked"));
    shop.client.push(&reference, &component, &[], &[], logins.find(&reference)).await.unwrap();
    let world = Fixture::cold(|settings| settings.pull_secrets = Some(Arc::new(Secrets)));
    let with = |secret: &str| map(&reference).data(PluginKeys::PULL_SECRET_KEY, secret);
    assert!(world.rejected(map(&reference)).await.contains("refuses acme/plain without a login"));
    assert!(
        world.rejected(with("missing")).await.contains("Secret missing for the registry: it is not there")
    );
    let misbehaving = world.rejected(with("odd")).await;
    assert!(
        misbehaving.contains("Secret odd has no logins") && !misbehaving.contains("hunter2"),
        "{misbehaving}"
    );
    assert!(world.rejected(with("other.io")).await.contains("it has no login for 127.0.0.1"));
    world.ready(with(&address)).await;
    assert_eq!(world.version("plain").await, "1.0.0");
}
