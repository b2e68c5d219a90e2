//! Bad content is rejected by name, and never replaces what serves.

use machinist_plugin_host::{Digest, Encoding, PluginState};

use crate::fixture::{Fixture, Map, compiler, plain, renamed};

/// Declares `bad` as the new content of a ConfigMap that serves, and as a newer ConfigMap of the same plugin.
async fn check(change: impl Fn(Map) -> Map, expected: &str) {
    let world = Fixture::new();
    let good = world.ready(Map::plain("plain", "1.0.0", &["plain"])).await;

    let reason = world.rejected(change(Map::plain("plain", "6.6.6", &["plain"]))).await;
    assert!(reason.contains(expected), "{reason:?} does not contain {expected:?}");
    assert_eq!(world.version("plain").await, "1.0.0");
    let report = world.report(&good.source);
    assert!(report.serving && report.state == PluginState::Rejected, "{report:?}");

    let newer = Map::plain("newer", "6.6.6", &["plain"]).plugin("plain").created(2_000_000_000);
    world.rejected(change(newer)).await;
    assert_eq!(world.version("plain").await, "1.0.0");

    // A user can fix it in place.
    world.ready(Map::plain("plain", "1.0.1", &["plain"])).await;
    assert_eq!(world.version("plain").await, "1.0.1");
}

fn component(bytes: Vec<u8>) -> impl Fn(Map) -> Map {
    move |map| map.binary("plugin.wasm", bytes.clone())
}

#[tokio::test]
async fn garbage() {
    check(component(b"hello, world".to_vec()), "it is not WebAssembly").await;
}

#[tokio::test]
async fn a_core_module() {
    check(component(b"\0asm\x01\0\0\0".to_vec()), "it is a core module, not a component").await;
}

#[tokio::test]
async fn a_truncated_component() {
    let whole = plain();
    check(component(whole[..whole.len() / 2].to_vec()), "it is damaged or truncated").await;
}

#[tokio::test]
async fn a_component_that_is_damaged_inside() {
    // The outside still parses; the compiler finds what is wrong.
    let mut damaged = plain();
    let name = b"cabi_realloc";
    let last = damaged.windows(name.len()).rposition(|window| window == name).expect("is exported");
    damaged[last] = b'k';
    check(component(damaged), "does not compile").await;
}

#[tokio::test]
async fn a_wrong_digest() {
    let digest = Digest::of(b"something else").to_string();
    check(move |map| map.data("sha256", &digest), "and sha256 says").await;
}

#[tokio::test]
async fn a_digest_that_is_none() {
    check(|map| map.data("sha256", "latest"), "is not a sha256 digest").await;
}

#[tokio::test]
async fn a_component_of_another_world() {
    let other = renamed(&plain(), "machinist:provider/driver", "machinist:provider/healer");
    check(component(other), "it exports no machinist:provider/driver").await;
}

#[tokio::test]
async fn a_component_of_a_newer_contract() {
    let newer = renamed(&plain(), "machinist:provider/driver@0.1.0", "machinist:provider/driver@0.2.0");
    check(component(newer), "it is built for machinist:provider/driver@0.2.0; this host serves 0.1.0").await;
}

#[tokio::test]
async fn an_unknown_import() {
    let misbehaving = renamed(&plain(), "machinist:host/settings@0.1.0", "machinist:host/sittings@0.1.0");
    check(component(misbehaving), "it imports what this host does not offer: machinist:host/sittings@0.1.0")
        .await;
}

#[tokio::test]
async fn a_function_that_a_known_interface_does_not_have() {
    // As a component for a later patch version of an interface.
    let misbehaving = renamed(&plain(), "wasi:cli/environment@0.2", "wasi:cli/environmint@0.2");
    check(component(misbehaving), "environmint").await;
}

#[tokio::test]
async fn a_damaged_archive() {
    let packed = zstd::encode_all(&plain()[..], 3).expect("compresses");
    let half = packed[..packed.len() / 2].to_vec();
    let map = move |map: Map| map.without("plugin.wasm").binary("plugin.wasm.zst", half.clone());
    check(map, "the zstd data is damaged").await;
}

#[tokio::test]
async fn a_damaged_gzip_archive() {
    let mut packed = Encoding::Gzip.pack(&plain()).expect("packs");
    let middle = packed.len() / 2;
    packed[middle..middle + 64].fill(0xff);
    let map = move |map: Map| map.without("plugin.wasm").binary("plugin.wasm.gz", packed.clone());
    check(map, "the gzip data is damaged").await;
}

#[tokio::test]
async fn grants_that_mean_nothing() {
    check(|map| map.data("grants.yaml", "limits: { memory_mib: 1000000 }"), "limit memory_mib is 1000000")
        .await;
}

/// Each of these would be all: every host, every address, every secret, all of the host.
#[tokio::test]
async fn grants_that_ask_for_everything() {
    for (grants, expected) in [
        ("egress: [{ host: '*' }]", "egress[0].host"),
        ("egress: [{ host: '*.*' }]", "egress[0].host"),
        (
            "egress: [{ host: 169.254.169.254, addresses: [public, private, loopback, link-local] }]",
            "metadata",
        ),
        ("egress: [{ host: a.com, addresses: all }]", "egress[0].addresses"),
        ("secrets: [{ key: token, places: [{ header: x }], hosts: ['*'] }]", "secrets[0].hosts"),
        ("auth: [{ scheme: '*' }]", "auth[0].scheme"),
        (
            "limits: { memory_mib: 999999, cpu_ms: 999999999, deadline_ms: 999999999, handles: 999999999 }",
            "limit memory_mib",
        ),
        ("limits: { cpu_ms: 999999999 }", "limit cpu_ms"),
        ("limits: { table_elements: 999999999 }", "limit table_elements"),
        ("limits: { calls_in_flight: 999999999 }", "limit calls_in_flight"),
    ] {
        check(|map| map.data("grants.yaml", grants), expected).await;
    }
}

#[tokio::test]
async fn rollouts_that_mean_nothing() {
    check(|map| map.data("rollout.yaml", "mode: [all"), "rollout.yaml").await;
    check(|map| map.data("rollout.yaml", "share: 200%"), "share").await;
}

#[tokio::test]
async fn a_description_that_breaks_the_contract() {
    let settings = r#"{"version":"newest"}"#;
    check(move |map| map.data("settings.json", settings), "version \"newest\" is not a semantic version")
        .await;
}

#[tokio::test]
async fn a_compressed_component_is_as_good_as_a_raw_one() {
    for encoding in [Encoding::Gzip, Encoding::Zstd] {
        let world = Fixture::new();
        let digest = Digest::of(&plain());
        let map = Map::plain("plain", "1.0.0", &["plain"])
            .without("plugin.wasm")
            .binary(encoding.key(), encoding.pack(&plain()).expect("packs"))
            .data("sha256", &digest.to_string());
        let report = world.ready(map).await;
        assert_eq!((report.digest, report.size_bytes), (Some(digest), Some(plain().len())));
        assert_eq!(world.version("plain").await, "1.0.0");
    }
}

#[tokio::test]
async fn a_compiler_that_fails_is_named_and_tried_again() {
    for (exe, expected) in
        [("/bin/false", "the compiler ended with"), ("/nowhere", "failed to run the compiler")]
    {
        let world = Fixture::cold(|settings| {
            assert_eq!(settings.compiler, compiler());
            settings.compiler = exe.into();
        });
        let reason = world.rejected(Map::plain("plain", "1.0.0", &["plain"])).await;
        assert!(reason.contains(expected) && reason.ends_with("next attempt in 5 s"), "{reason}");
    }
}
