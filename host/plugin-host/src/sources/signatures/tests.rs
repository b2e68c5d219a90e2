use machinist_artifacts::{ContentDigest, SigningKey};
use machinist_core::value::error_chain::chain;

use super::*;

const COMPONENT: &[u8] = b"component";

struct Scene {
    keys: Keyring,
    ours: SigningKey,
    theirs: SigningKey,
}

fn scene() -> Scene {
    let (ours, theirs) = (SigningKey::generate().expect("a key"), SigningKey::generate().expect("a key"));
    let keys = Keyring::parse("ours", &ours.public_pem()).expect("keys");
    Scene { keys, ours, theirs }
}

fn parts() -> Parts {
    Parts {
        kind: "driver".to_owned(),
        name: "aws".to_owned(),
        component: ContentDigest::of(COMPONENT),
        grants: Some(ContentDigest::of(b"grants")),
        settings: None,
        terms: None,
    }
}

fn bundle(counter: u64) -> Bundle {
    Bundle { parts: parts(), providers: BTreeSet::from(["aws".to_owned()]), counter }
}

fn signed(key: &SigningKey, text: &str) -> SignedBundle {
    SignedBundle { text: text.to_owned(), signature: key.sign_blob(text.as_bytes()).expect("signed") }
}

impl Scene {
    fn judge(
        &self,
        rule: Rule,
        parts: &Parts,
        bundles: &[SignedBundle],
        signature: Option<&str>,
    ) -> Result<Signed, String> {
        let evidence = Evidence { parts, bundles, signature, component: COMPONENT, signer: None };
        judge(&self.keys, rule, evidence).map_err(|error| chain(&error))
    }

    fn refused(&self, bundles: &[SignedBundle]) -> String {
        self.judge(Rule::Bundle, &parts(), bundles, None).expect_err("it is refused")
    }
}

#[test]
fn a_bundle_by_a_trusted_key_is_enough_everywhere() {
    let scene = scene();
    let bundles = [signed(&scene.ours, &bundle(7).to_text())];
    for rule in [Rule::Free, Rule::Component, Rule::Bundle] {
        let judged = scene.judge(rule, &parts(), &bundles, None).expect("good");
        assert_eq!(judged.signer.as_deref(), Some("ours"));
        assert_eq!(judged.counter(), (rule != Rule::Free).then_some(7));
        assert!(judged.check_providers(&["aws".into()]).is_ok());
        let message =
            judged.check_providers(&["aws".into(), "gcp".into()]).expect_err("not signed").to_string();
        assert!(message.contains("claims provider gcp, and its bundle was signed for aws only"), "{message}");
    }
    // A line end that an editor adds is no part of it.
    let mut longer = bundles[0].clone();
    longer.text.push('\n');
    assert!(scene.judge(Rule::Bundle, &parts(), &[longer], None).is_ok());
}

#[test]
fn attack_a_signed_component_beside_other_grants_is_refused() {
    let scene = scene();
    let bare = scene.ours.sign_blob(COMPONENT).expect("signed");
    let message = scene.judge(Rule::Bundle, &parts(), &[], Some(&bare)).expect_err("refused");
    assert!(
        message.contains("here only the component is") && message.contains("plugin push --sign"),
        "{message}"
    );
    let judged = scene.judge(Rule::Component, &parts(), &[], Some(&bare)).expect("below a ceiling");
    assert_eq!((judged.signer.as_deref(), judged.counter()), (Some("ours"), None));
    let bundles = [signed(&scene.ours, &bundle(7).to_text())];
    type Change = fn(&mut Parts);
    let changes: [(Change, &str); 5] = [
        (|parts| parts.grants = Some(ContentDigest::of(b"evil")), "for another grants.yaml:"),
        (|parts| parts.grants = None, "for another grants.yaml:"),
        (|parts| parts.settings = Some(ContentDigest::of(b"evil")), "for another settings.json:"),
        (|parts| parts.name = "azure".to_owned(), "for another plugin name:"),
        (|parts| parts.component = ContentDigest::of(b"evil"), "for another component:"),
    ];
    for (change, expected) in changes {
        let mut there = parts();
        change(&mut there);
        let message = scene.judge(Rule::Bundle, &there, &bundles, Some(&bare)).expect_err("refused");
        assert!(message.contains(expected) && message.contains("plugin sign --configmap"), "{message}");
        // Where none is needed, a bundle that is there must be good as well.
        assert!(scene.judge(Rule::Free, &there, &bundles, None).is_err());
    }
}

#[test]
fn attack_a_bundle_by_a_key_that_is_not_trusted_is_refused() {
    let scene = scene();
    let message = scene.refused(&[signed(&scene.theirs, &bundle(7).to_text())]);
    assert!(
        message.contains("signature of its bundle is not accepted: none of the 1 trusted keys"),
        "{message}"
    );
    // The signature of another bundle, of the component, of nothing.
    let text = bundle(8).to_text();
    for other in [bundle(7).to_text().as_bytes(), COMPONENT, b""] {
        let signature = scene.ours.sign_blob(other).expect("signed");
        let message = scene.refused(&[SignedBundle { text: text.clone(), signature }]);
        assert!(message.contains("not accepted"), "{message}");
    }
    let message = scene.refused(&[SignedBundle { text, signature: "?".to_owned() }]);
    assert!(message.contains("not base64"), "{message}");
}

#[test]
fn attack_a_signed_text_that_is_no_bundle_is_refused_with_its_reason() {
    let scene = scene();
    let good = bundle(7).to_text();
    for (text, expected) in [
        (good[..40].to_owned(), "not the JSON of a bundle"),
        (String::new(), "not the JSON of a bundle"),
        ("x".repeat(1 << 20), "16384 are the most"),
        (good.replacen("\"counter\":7", "\"counter\":7,\"counter\":9", 1), "each field once"),
        (good.replacen(':', ": ", 1), "canonical form"),
        (format!(" {good}"), "canonical form"),
    ] {
        let message = scene.refused(&[signed(&scene.ours, &text)]);
        assert!(message.contains(expected), "{message}");
        assert!(message.len() < 1_000, "{} bytes", message.len());
    }
}

#[test]
fn of_many_bundles_the_good_one_with_the_greatest_counter_counts() {
    let scene = scene();
    let other = Bundle { parts: Parts { name: "other".to_owned(), ..parts() }, ..bundle(99) };
    let mut bundles = vec![
        signed(&scene.theirs, &bundle(100).to_text()),
        signed(&scene.ours, &bundle(3).to_text()),
        signed(&scene.ours, &bundle(5).to_text()),
        signed(&scene.ours, &other.to_text()),
    ];
    let judged = scene.judge(Rule::Bundle, &parts(), &bundles, None).expect("good");
    assert_eq!(judged.counter(), Some(5));
    // Without a good one, what is nearest says why.
    bundles.drain(1..3);
    assert!(scene.refused(&bundles).contains("another plugin name"));
}

#[test]
fn without_keys_nothing_is_looked_at_unless_it_is_needed() {
    let scene = Scene { keys: Keyring::default(), ..scene() };
    let bundles = [signed(&scene.ours, &bundle(7).to_text())];
    assert_eq!(scene.judge(Rule::Free, &parts(), &bundles, Some("?")), Ok(Signed::default()));
    assert!(scene.judge(Rule::Bundle, &parts(), &bundles, None).is_err());
    assert!(scene.judge(Rule::Component, &parts(), &[], None).is_err());
}
