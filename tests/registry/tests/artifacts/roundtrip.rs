use bytes::Bytes;
use machinist_artifacts::signature::cosign;
use machinist_artifacts::{ContentDigest, Keyring, Logins, SigningKey};
use registry::{Door, PASSWORD, USER};

use super::support::{COMPONENT, World, chain};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pushed_is_pulled_by_tag_and_by_digest() {
    let world = World::new(Door::Open).await;
    let tagged = world.straight("acme/driver:1");
    let digest = world.push(&tagged, COMPONENT).await;
    for reference in [&tagged, &tagged.at(digest)] {
        let pulled = world.pull(reference).await.unwrap();
        assert_eq!(pulled.component, COMPONENT);
        assert_eq!((pulled.manifest, pulled.layer), (digest, ContentDigest::of(COMPONENT)));
    }
    assert_eq!(world.push(&tagged, COMPONENT).await, digest, "the same component is the same artifact");
    let next = world.push(&tagged, b"another").await;
    assert_ne!(next, digest);
    assert_eq!(world.pull(&tagged).await.unwrap().manifest, next, "the tag has moved");
    assert_eq!(world.pull(&tagged.at(digest)).await.unwrap().component, COMPONENT, "the digest has not");
    let error = chain(&world.pull(&world.straight("acme/driver:2")).await.unwrap_err());
    assert!(error.contains("has no manifest acme/driver:2"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_component_travels_whole() {
    let world = World::new(Door::Open).await;
    let large: Bytes = (0..9_000_000_u32).map(|n| n.to_le_bytes()[usize::from(n % 3 == 0)]).collect();
    let reference = world.straight("large:1");
    world.client.push(&reference, &large, &[], &[], None).await.unwrap();
    assert!(world.pull(&reference).await.unwrap().component == large);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_registry_opens_to_a_login_and_says_what_is_missing() {
    let world = World::new(Door::Locked).await;
    let reference = world.straight("acme/driver:1");
    let logins = |password: &str| {
        let config = format!(
            r#"{{"auths":{{"{}":{{"username":"{USER}","password":"{password}"}}}}}}"#,
            reference.registry
        );
        Logins::parse(config.as_bytes()).unwrap()
    };
    let good = logins(PASSWORD);
    let login = good.find(&reference);
    world.client.push(&reference, &Bytes::from_static(COMPONENT), &[], &[], login).await.unwrap();
    assert_eq!(world.client.pull(&reference, login).await.unwrap().component, COMPONENT);
    let without = chain(&world.pull(&reference).await.unwrap_err());
    assert!(
        without.contains("refuses acme/driver without a login") && without.contains("oci-pull-secret"),
        "{without}"
    );
    let bad = logins("hunter2");
    let wrong = chain(&world.client.pull(&reference, bad.find(&reference)).await.unwrap_err());
    assert!(wrong.contains("with this login") && !wrong.contains("hunter2"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn signatures_lie_beside_the_artifact_and_belong_to_it_alone() {
    let world = World::new(Door::Open).await;
    let reference = world.straight("acme/driver:1");
    let digest = world.push(&reference, COMPONENT).await;
    let (mine, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let ring = Keyring::parse("mine", &mine.public_pem()).unwrap();
    let all = async || world.client.signatures(&reference, digest, None).await.unwrap();
    let verdict = |all: &[cosign::Signed]| ring.check_artifact(digest, all).map(|key| key.name().to_owned());
    assert!(verdict(&all().await).unwrap_err().to_string().contains("not signed"));
    let foreign = cosign::sign(&other, &reference, digest).unwrap();
    world.client.push_signature(&reference, digest, &foreign, None).await.unwrap();
    assert!(verdict(&all().await).unwrap_err().to_string().contains("none of the 1 trusted keys"));
    let own = cosign::sign(&mine, &reference, digest).unwrap();
    world.client.push_signature(&reference, digest, &own, None).await.unwrap();
    assert_eq!(verdict(&all().await).unwrap(), "mine");
    assert_eq!(all().await.len(), 2, "the other signature stays");
    let next = world.push(&reference, b"another").await;
    assert!(world.client.signatures(&reference, next, None).await.unwrap().is_empty());
}
