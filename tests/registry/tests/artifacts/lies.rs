use std::time::{Duration, Instant};

use machinist_artifacts::Error;
use registry::{Door, Lie};

use super::support::{COMPONENT, Harness, chain, client};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

fn instead(kind: &str, body: impl Into<String>) -> Lie {
    Lie::Instead { status: 200, headers: vec![("content-type", kind.to_owned())], body: body.into() }
}

fn status(status: u16, headers: Vec<(&'static str, String)>) -> Lie {
    Lie::Instead { status, headers, body: "{\"errors\":[{\"code\":\"ODD\u{7}\"}]}".to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_bytes_than_those_that_were_asked_for_are_refused() {
    let harness = Harness::new(Door::Open).await;
    let tagged = harness.askew("driver:1");
    let digest = harness.push(&harness.straight("driver:1"), COMPONENT).await;
    let pull = async |path: &str, lie: Lie, reference: &machinist_artifacts::Reference| {
        harness.liar.lie(path, lie);
        let error = harness.pull(reference).await.unwrap_err();
        harness.liar.repent();
        assert!(harness.pull(reference).await.is_ok(), "the truth is taken again");
        (chain(&error), error.is_passing())
    };
    // The registry says one digest and sends something else.
    let (said, passes) = pull("/blobs/", Lie::Bytes, &tagged).await;
    assert!(said.contains("answers other bytes than were asked for") && passes, "{said}");
    let (said, _) = pull("/manifests/", Lie::Bytes, &tagged.at(digest)).await;
    assert!(said.contains("answers other bytes"), "{said}");
    let (said, _) = pull("/manifests/", Lie::Bytes, &tagged).await;
    assert!(said.contains("answers other bytes"), "the header with its digest tells: {said}");
    let (said, passes) = pull("/blobs/", Lie::Half, &tagged).await;
    assert!(said.contains("failed to reach registry") && passes, "{said}");
    let (said, _) = pull("/blobs/", instead("application/wasm", "short"), &tagged).await;
    assert!(said.contains("answers 5 bytes for blob"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_is_down_slow_or_endless_costs_a_limited_time_and_memory() {
    let harness = Harness::new(Door::Open).await;
    harness.push(&harness.straight("driver:1"), COMPONENT).await;
    let reference = harness.askew("driver:1");
    let impatient = client(Duration::from_millis(500));
    for (path, lie, expected) in [
        ("/manifests/", Lie::Silence, "is too slow: no manifest driver:1 within 0 s"),
        ("/manifests/", Lie::Drip, "is too slow"),
        ("/blobs/", Lie::Silence, "is too slow: no blob"),
        ("/blobs/", Lie::Drip, "is too slow"),
    ] {
        harness.liar.lie(path, lie);
        let started = Instant::now();
        let error = impatient.pull(&reference, None).await.unwrap_err();
        harness.liar.repent();
        assert!(chain(&error).contains(expected) && error.is_passing(), "{}", chain(&error));
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    }
    harness.liar.lie("/manifests/", Lie::Flood);
    let error = harness.pull(&reference).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { most: 262_144, .. }), "{error:?}");
    harness.liar.repent();
    harness.liar.lie("/blobs/", Lie::Flood);
    let error = harness.pull(&reference).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge { most: 67_108_864, .. }), "{error:?}");
    harness.liar.repent();
    let down = "127.0.0.1:1/driver:1".parse().unwrap();
    let said = chain(&harness.pull(&down).await.unwrap_err());
    assert!(said.starts_with("failed to reach registry 127.0.0.1:1"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_component_is_named() {
    let harness = Harness::new(Door::Open).await;
    harness.push(&harness.straight("driver:1"), COMPONENT).await;
    let reference = harness.askew("driver:1");
    let entry =
        |kind: &str| format!(r#"{{"mediaType":"{kind}","digest":"sha256:{}","size":9}}"#, "0".repeat(64));
    let index =
        |entries: &str| format!(r#"{{"schemaVersion":2,"mediaType":"{INDEX}","manifests":[{entries}]}}"#);
    let huge = vec![entry(MANIFEST); 400].join(",");
    let layers = |config: &str, size: u64| {
        format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{{"mediaType":"{config}","digest":"sha256:{0}","size":2}},
            "layers":[{{"mediaType":"application/wasm","digest":"sha256:{0}","size":{size}}}]}}"#,
            "0".repeat(64)
        )
    };
    for (lie, expected) in [
        (instead(MANIFEST, "{"), "the manifest cannot be read"),
        (instead(MANIFEST, "[".repeat(200_000)), "the manifest cannot be read"),
        (instead("text/html", "<html>"), "the manifest cannot be read"),
        (instead(INDEX, index(&huge)), "names 400 manifests, and 32 are the most"),
        (instead(INDEX, index(&entry(INDEX))), "leads to another index"),
        (
            instead(MANIFEST, layers("application/vnd.oci.image.config.v1+json", 9)),
            "another kind of artifact",
        ),
        (
            instead(MANIFEST, layers("application/vnd.wasm.config.v0+json", 1 << 40)),
            "more than 67108864 bytes",
        ),
        (status(500, Vec::new()), "answers 500 to manifest driver:1"),
        (status(429, Vec::new()), "answers 429"),
        (status(401, Vec::new()), "asks for a login in a way that is not followed"),
    ] {
        harness.liar.lie("/manifests/1", lie);
        let said = chain(&harness.pull(&reference).await.unwrap_err());
        harness.liar.repent();
        assert!(said.contains(expected), "{said} lacks {expected}");
    }
    // An index that leads to itself ends after one step.
    harness.liar.lie("/manifests/", instead(INDEX, index(&entry(MANIFEST))));
    let said = chain(&harness.pull(&reference).await.unwrap_err());
    assert!(said.contains("answers other bytes than were asked for"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_end() {
    let harness = Harness::new(Door::Open).await;
    harness.push(&harness.straight("driver:1"), COMPONENT).await;
    let reference = harness.askew("driver:1");
    let place = format!("http://{}/v2/driver/blobs/again", harness.liar.address());
    harness.liar.lie("/blobs/", status(307, vec![("location", place)]));
    let said = chain(&harness.pull(&reference).await.unwrap_err());
    assert!(said.contains("redirect"), "{said}");
    assert!(harness.liar.asked().len() < 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_goes_to_the_registry_and_nowhere_else() {
    let harness = Harness::new(Door::Open).await;
    let other = Harness::new(Door::Open).await;
    let place = format!("http://{}/v2/driver/blobs/uploads/1", other.liar.address());
    harness.liar.lie(
        "/blobs/uploads/",
        Lie::Instead { status: 202, headers: vec![("location", place)], body: String::new() },
    );
    let component = bytes::Bytes::from_static(COMPONENT);
    let pushed = harness.client.push(&harness.askew("driver:1"), &component, &[], &[], None).await;
    let said = chain(&pushed.unwrap_err());
    assert!(said.contains("the upload leads to another server"), "{said}");
    assert_eq!(other.liar.asked(), Vec::<String>::new());
}
