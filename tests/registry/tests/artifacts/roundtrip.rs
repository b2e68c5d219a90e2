use bytes::Bytes;
use machinist_artifacts::signature::cosign;
use machinist_artifacts::{ContentDigest, Keyring, Logins, SigningKey};
use registry::{Door, PASSWORD, USER};

use super::support::{COMPONENT, Harness, chain};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pushed_is_pulled_by_tag_and_by_digest() {
    let harness = Harness::new(Door::Open).await;
    let tagged = harness.straight("acme/driver:1");
    let digest = harness.push(&tagged, COMPONENT).await;
    for reference in [&tagged, &tagged.at(digest)] {
        let pulled = harness.pull(reference).await.unwrap();
        assert_eq!(pulled.component, COMPONENT);
        assert_eq!((pulled.manifest, pulled.layer), (digest, ContentDigest::of(COMPONENT)));
    }
    assert_eq!(harness.push(&tagged, COMPONENT).await, digest, "the same component is the same artifact");
    let next = harness.push(&tagged, b"another").await;
    assert_ne!(next, digest);
    assert_eq!(harness.pull(&tagged).await.unwrap().manifest, next, "the tag has moved");
    assert_eq!(harness.pull(&tagged.at(digest)).await.unwrap().component, COMPONENT, "the digest has not");
    let error = chain(&harness.pull(&harness.straight("acme/driver:2")).await.unwrap_err());
    assert!(error.contains("has no manifest acme/driver:2"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_component_travels_whole() {
    let harness = Harness::new(Door::Open).await;
    let large: Bytes = (0..9_000_000_u32).map(|n| n.to_le_bytes()[usize::from(n % 3 == 0)]).collect();
    let reference = harness.straight("large:1");
    harness.client.push(&reference, &large, &[], &[], None).await.unwrap();
    assert!(harness.pull(&reference).await.unwrap().component == large);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_registry_opens_to_a_login_and_says_what_is_missing() {
    let harness = Harness::new(Door::Locked).await;
    let reference = harness.straight("acme/driver:1");
    let logins = |password: &str| {
        let config = format!(
            r#"{{"auths":{{"{}":{{"username":"{USER}","password":"{password}"}}}}}}"#,
            reference.registry
        );
        Logins::parse(config.as_bytes()).unwrap()
    };
    let good = logins(PASSWORD);
    let login = good.find(&reference);
    harness.client.push(&reference, &Bytes::from_static(COMPONENT), &[], &[], login).await.unwrap();
    assert_eq!(harness.client.pull(&reference, login).await.unwrap().component, COMPONENT);
    let without = chain(&harness.pull(&reference).await.unwrap_err());
    assert!(
        without.contains("refuses acme/driver without a login") && without.contains("oci-pull-secret"),
        "{without}"
    );
    let bad = logins("hunter2");
    let wrong = chain(&harness.client.pull(&reference, bad.find(&reference)).await.unwrap_err());
    assert!(wrong.contains("with this login") && !wrong.contains("hunter2"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_lie_beside_the_artifact_and_belong_to_it_alone() {
    let harness = Harness::new(Door::Open).await;
    let reference = harness.straight("acme/driver:1");
    let digest = harness.push(&reference, COMPONENT).await;
    let (mine, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let ring = Keyring::parse("mine", &mine.public_pem()).unwrap();
    let all = async || harness.client.signatures(&reference, digest, None).await.unwrap();
    let verdict = |all: &[cosign::Signed]| ring.check_artifact(digest, all).map(|key| key.name().to_owned());
    assert!(verdict(&all().await).unwrap_err().to_string().contains("not signed"));
    let foreign = cosign::sign(&other, &reference, digest).unwrap();
    harness.client.push_signature(&reference, digest, &foreign, None).await.unwrap();
    assert!(verdict(&all().await).unwrap_err().to_string().contains("none of the 1 trusted keys"));
    let own = cosign::sign(&mine, &reference, digest).unwrap();
    harness.client.push_signature(&reference, digest, &own, None).await.unwrap();
    assert_eq!(verdict(&all().await).unwrap(), "mine");
    assert_eq!(all().await.len(), 2, "the other signature stays");
    let next = harness.push(&reference, b"another").await;
    assert!(harness.client.signatures(&reference, next, None).await.unwrap().is_empty());
}
