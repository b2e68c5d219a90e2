use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use machinist_core::value::id::PluginName;
use proptest::prelude::*;

use super::*;

const TOKEN: &str = "s3cr3t/T+ken\"<&>'%é";

fn vault(grants: &str) -> Vault {
    let values = BTreeMap::from([
        ("token".to_owned(), TOKEN.as_bytes().to_vec()),
        ("plain".to_owned(), b"AKIAIOSFODNN7EXAMPLE".to_vec()),
        ("short".to_owned(), b"1234567".to_vec()),
        ("binary".to_owned(), vec![0xff, 0, 1, 2, 3, 4, 5, 6, 0xfe]),
    ]);
    let user_data = Some(b"#cloud-config\nbootstrap: abcdef.0123456789abcdef\n".to_vec());
    Vault::new(
        SecretValues { values, user_data, ..SecretValues::default() },
        Grants::parse(grants).unwrap().shared(),
    )
}

const PLACES: &str = "secrets:
  - { key: token, places: [{ header: a }] }
  - { key: binary, places: [{ header: a }] }
  - { key: userData, places: [{ form: b }] }
";

#[test]
fn a_component_sees_keys_and_lengths_only() {
    let vault = vault("");
    assert_eq!(vault.keys(), ["binary", "plain", "short", "token"]);
    assert_eq!(vault.open("userData"), None);
    let token = vault.open("token").unwrap();
    assert_eq!(vault.length(token), TOKEN.len() as u64);
    assert!(!vault.starts_with(token, b"s") && !vault.starts_with(token, b""));
    let user_data = vault.user_data().unwrap();
    assert!(vault.starts_with(user_data, b"#cloud-config"));
    assert!(!vault.starts_with(user_data, b"#!"));
    assert!(!format!("{vault:?}").contains("s3cr3t"), "{vault:?}");
    assert_eq!(Vault::new(SecretValues::default(), Grants::default().shared()).user_data(), None);
}

#[test]
fn only_so_many_bytes_of_the_beginning_are_compared() {
    let values = SecretValues { user_data: Some(vec![b'x'; 100]), ..SecretValues::default() };
    let vault = Vault::new(values, Grants::default().shared());
    let user_data = vault.user_data().unwrap();
    let mut guess = vec![b'x'; PREFIX_BYTES];
    guess.extend(b"different");
    assert!(vault.starts_with(user_data, &guess));
}

#[test]
fn placeholders_are_granted_stable_and_unguessable() {
    let (vault, other) = (vault(PLACES), vault(PLACES));
    let token = vault.open("token").unwrap();
    let placeholder = vault.placeholder(token, &[PlaceholderEncoding::Base64]).unwrap();
    assert_eq!(vault.placeholder(token, &[PlaceholderEncoding::Base64]), Ok(placeholder.clone()));
    assert_ne!(vault.placeholder(token, &[]), Ok(placeholder.clone()));
    assert_ne!(other.placeholder(token, &[PlaceholderEncoding::Base64]), Ok(placeholder.clone()));
    assert_eq!(placeholder.len(), PLACEHOLDER_BYTES);
    assert!(
        placeholder.starts_with(PLACEHOLDER_PREFIX)
            && placeholder.bytes().all(|byte| byte.is_ascii_alphanumeric())
    );
    assert!(vault.expand(&placeholder).is_some() && other.expand(&placeholder).is_none());
    assert_eq!(vault.placeholder(vault.open("plain").unwrap(), &[]), Err(Refusal::NotGranted));
}

#[test]
fn placeholders_and_encodings_are_limited() {
    let vault = vault(PLACES);
    let token = vault.open("token").unwrap();
    assert_eq!(vault.placeholder(token, &[PlaceholderEncoding::Plain; 5]), Err(Refusal::Encodings));
    assert_eq!(
        vault.placeholder(vault.open("binary").unwrap(), &[PlaceholderEncoding::JsonEscape]),
        Err(Refusal::Encodings)
    );
    assert_eq!(
        vault.placeholder(token, &[PlaceholderEncoding::Gzip, PlaceholderEncoding::JsonEscape]),
        Err(Refusal::Encodings)
    );
    let all = [
        PlaceholderEncoding::Plain,
        PlaceholderEncoding::Base64,
        PlaceholderEncoding::Form,
        PlaceholderEncoding::JsonEscape,
        PlaceholderEncoding::Gzip,
    ];
    let chain = |number: usize| [1, 5, 25, 125].map(|place| all[number / place % 5]).to_vec();
    let chains: Vec<_> = (0..625).map(chain).collect();
    let outcomes: Vec<_> = chains.iter().map(|chain| vault.placeholder(token, chain)).collect();
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), PLACEHOLDERS_PER_CALL);
    assert_eq!(outcomes.last(), Some(&Err(Refusal::TooMany)));
}

#[test]
fn attack_many_encodings_of_a_large_value() {
    let values = SecretValues { user_data: Some(vec![b'u'; 16 << 10]), ..SecretValues::default() };
    let grants = Grants::parse("secrets: [{ key: userData, places: [{ json: /x }] }]").unwrap();
    let vault = Vault::new(values, Arc::new(grants));
    let user_data = vault.user_data().unwrap();
    let all = [
        PlaceholderEncoding::Plain,
        PlaceholderEncoding::Base64,
        PlaceholderEncoding::Form,
        PlaceholderEncoding::JsonEscape,
    ];
    let chain = |number: usize| [1, 4, 16, 64].map(|place| all[number / place % 4]).to_vec();
    let outcomes: Vec<_> = (0..256).map(|number| vault.placeholder(user_data, &chain(number))).collect();
    let tokens: Vec<&String> = outcomes.iter().flatten().collect();
    let kept: usize = tokens
        .iter()
        .flat_map(|token| vault.expand(token).unwrap().steps.to_vec())
        .map(|step| step.len())
        .sum();
    assert!(tokens.len() >= 16, "an honest driver has enough: {}", tokens.len());
    assert!(kept < ENCODED_BYTES_PER_CALL + (256 << 10), "{kept} bytes");
    assert_eq!(outcomes.last(), Some(&Err(Refusal::TooMany)));
    assert!(vault.refusals() > 100, "each is counted");
}

#[test]
fn encodings_are_applied_in_their_order() {
    let vault = vault(PLACES);
    let sent = |encodings: &[PlaceholderEncoding]| {
        let token = vault.placeholder(vault.open("token").unwrap(), encodings).unwrap();
        vault.expand(&token).unwrap().steps.last().unwrap().to_vec()
    };
    assert_eq!(sent(&[]), TOKEN.as_bytes());
    assert_eq!(sent(&[PlaceholderEncoding::Base64]), STANDARD.encode(TOKEN).into_bytes());
    assert_eq!(sent(&[PlaceholderEncoding::Form]), b"s3cr3t%2FT%2Bken%22%3C%26%3E%27%25%C3%A9");
    assert_eq!(sent(&[PlaceholderEncoding::JsonEscape]), "s3cr3t/T+ken\\\"<&>'%é".as_bytes());
    assert_eq!(
        sent(&[PlaceholderEncoding::Base64, PlaceholderEncoding::Form]),
        STANDARD.encode(TOKEN).replace('+', "%2B").replace('/', "%2F").replace('=', "%3D").into_bytes()
    );
    let zipped = sent(&[PlaceholderEncoding::Gzip, PlaceholderEncoding::Base64]);
    assert_eq!(zipped, sent(&[PlaceholderEncoding::Gzip, PlaceholderEncoding::Base64]));
    let mut unzipped = String::new();
    let zipped = STANDARD.decode(zipped).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(zipped.as_slice()), &mut unzipped)
        .unwrap();
    assert_eq!(unzipped, TOKEN);
}

#[test]
fn a_value_is_revealed_by_grant_only_and_counted() {
    let vault = vault("reveal: [token]");
    assert_eq!(vault.reveal(vault.open("token").unwrap()), Ok(TOKEN.as_bytes().to_vec()));
    assert_eq!(vault.reveal(vault.open("plain").unwrap()), Err(Refusal::NotGranted));
    assert_eq!(vault.reveal(vault.user_data().unwrap()), Err(Refusal::NotGranted));
    assert_eq!(vault.reveals(), 1);
}

fn spellings(value: &str) -> Vec<String> {
    let json = serde_json::to_string(value).unwrap();
    let json = json[1..json.len() - 1].to_owned();
    let form: String = url::form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let around = |text: &str, engine: &dyn Fn(&[u8]) -> String| {
        (0..4)
            .map(|offset| engine(format!("{}{text} and more", "x".repeat(offset)).as_bytes()))
            .collect::<Vec<_>>()
    };
    let mut all = vec![
        value.to_owned(),
        json.replace('é', "\\u00e9"),
        json.replace('/', "\\/"),
        json,
        form.replace("%2F", "%2f")
            .replace("%2B", "%2b")
            .replace("%3C", "%3c")
            .replace("%3E", "%3e")
            .replace("%C3%A9", "%c3%a9"),
        form,
        value
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;"),
        STANDARD.encode(value),
        URL_SAFE_NO_PAD.encode(value),
        STANDARD.encode(value).replace('+', "%2B").replace('/', "%2F").replace('=', "%3D"),
    ];
    all.extend(around(value, &|bytes| STANDARD.encode(bytes)));
    all.extend(around(value, &|bytes| URL_SAFE_NO_PAD.encode(bytes)));
    all
}

/// The base64 text of the value must be absent in every alignment.
fn shows(scrubbed: &str, value: &str) -> bool {
    let middle = &value.as_bytes()[2..value.len() - 3];
    let in_base64 = (0..3).any(|skip| {
        let inside = STANDARD_NO_PAD.encode(&middle[skip..skip + (middle.len() - skip) / 3 * 3]);
        scrubbed.contains(&inside) || scrubbed.contains(&inside.replace('+', "-").replace('/', "_"))
    });
    scrubbed.contains(value) || in_base64
}

#[test]
fn a_value_disappears_in_every_spelling() {
    let vault = vault("");
    for value in [TOKEN, "AKIAIOSFODNN7EXAMPLE"] {
        for spelling in spellings(value) {
            let scrubbed = vault.scrub_text(&format!("before {spelling} after")).into_owned();
            assert!(scrubbed.contains(MASK) && !shows(&scrubbed, value), "{spelling} -> {scrubbed}");
            assert!(scrubbed.starts_with("before ") && scrubbed.ends_with(" after"), "{scrubbed}");
        }
    }
    assert_eq!(vault.scrub_text("abcAKIAIOSFODNN7EXAMPLEdef"), "abc***def");
    assert_eq!(vault.scrub_bytes(&[1, 0xff, 0, 1, 2, 3, 4, 5, 6, 0xfe, 2]).as_ref(), b"\x01***\x02");
}

#[test]
fn short_values_and_other_text_stay() {
    let vault = vault("");
    for text in ["", "1234567", "nothing here", "s3cr3t", "AKIAIOSFODNN7EXAMPL"] {
        assert!(matches!(vault.scrub_text(text), Cow::Borrowed(same) if same == text));
    }
}

#[test]
fn values_that_a_placeholder_sent_disappear_too() {
    let vault = vault(PLACES);
    let token = vault
        .placeholder(vault.user_data().unwrap(), &[PlaceholderEncoding::Gzip, PlaceholderEncoding::Base64])
        .unwrap();
    let steps = vault.expand(&token).unwrap().steps;
    for step in steps.iter() {
        let echoed = STANDARD.encode(step);
        assert_eq!(vault.scrub_text(&format!("<{echoed}>")), "<***>");
    }
}

#[test]
fn a_revealed_value_stays_in_answers_and_disappears_in_logs() {
    let vault = vault("reveal: [plain]");
    assert_eq!(vault.scrub_text("AKIAIOSFODNN7EXAMPLE"), MASK);
    assert_eq!(vault.scrubber().whole(b"AKIAIOSFODNN7EXAMPLE"), None);
    assert!(vault.scrubber().whole(TOKEN.as_bytes()).is_some());
}

fn in_pieces(vault: &Vault, bytes: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut scrubber = vault.scrubber();
    let (mut out, mut from) = (Vec::new(), 0);
    for cut in cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([bytes.len()]) {
        if cut > from {
            out.extend(scrubber.push(Bytes::copy_from_slice(&bytes[from..cut])));
            from = cut;
        }
    }
    out.extend(scrubber.finish());
    out
}

fn one_mask(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    while text.contains("****") {
        text = text.replace("****", MASK);
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier::cases(200), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_is_scrubbed_as_the_whole_is(
        parts in prop::collection::vec(
            prop_oneof![
                "[a-z ]{0,300}",
                Just("AKIAIOSFODNN7EXAMPLE".to_owned()),
                Just(TOKEN.to_owned()),
                Just(STANDARD.encode(TOKEN)),
                Just("AKIAIOSFODNN".to_owned()),
            ],
            0..20,
        ),
        mut cuts in prop::collection::vec(0usize..4000, 0..40),
    ) {
        let (vault, whole) = (vault(""), parts.concat());
        cuts.sort_unstable();
        let streamed = in_pieces(&vault, whole.as_bytes(), &cuts);
        prop_assert_eq!(one_mask(&streamed), one_mask(vault.scrub_text(&whole).as_bytes()));
        prop_assert!(!String::from_utf8_lossy(&streamed).contains("AKIAIOSFODNN7EXAMPLE"));
    }
}

#[test]
fn a_server_that_dribbles_costs_no_more_than_one_that_does_not() {
    let values = SecretValues { user_data: Some(vec![b'#'; 16 * 1024]), ..SecretValues::default() };
    let vault = Vault::new(values, Grants::default().shared());
    let mut scrubber = vault.scrubber();
    let out: usize = (0..400_000).map(|_| scrubber.push(Bytes::from_static(b"-")).len()).sum();
    assert_eq!(out + scrubber.finish().len(), 400_000);
}

#[test]
fn attack_a_token_that_becomes_known_while_an_answer_comes() {
    const LATE: &str = "ya29.a0AfH6SMBx7Qk2Zt9Lw";
    let vault = Vault::new(SecretValues::default(), Grants::default().shared());
    let mut scrubber = vault.scrubber();
    assert_eq!(scrubber.push(Bytes::from_static(b"it begins ")), "it begins ");
    vault.hide([LATE.as_bytes()], None);
    let echo = format!("{LATE} and {} and more", STANDARD.encode(LATE));
    let rest = [scrubber.push(Bytes::from(echo)), scrubber.finish()].concat();
    assert_eq!(String::from_utf8(rest).unwrap(), "*** and *** and more");
}

#[test]
fn attack_what_one_call_knows_another_call_reads_back() {
    let known = KnownValues::new(Arc::new(|| Timestamp::UNIX_EPOCH));
    let grants = Grants::parse("reveal: [region]").unwrap().shared();
    let vault = |plugin: &str, values: &[(&str, &str)], user_data: Option<&str>| {
        let values =
            values.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect();
        let user_data = user_data.map(|text| text.as_bytes().to_vec());
        let values = SecretValues { values, user_data, ..SecretValues::default() };
        Vault::knowing(values, Arc::clone(&grants), known.to(&PluginName::new(plugin)))
    };
    let first = vault("aws", &[("key", "s3cr3t-k3y-0123"), ("region", "eu-west-1")], Some(MACHINE));
    first.hide([LIVE.as_bytes()], None);
    first.hide_signature(&"0123456789abcdef".repeat(4));
    drop(first);
    let echo = format!("{MACHINE} s3cr3t-k3y-0123 {LIVE} {} eu-west-1", "0123456789abcdef".repeat(4));
    let shown = |vault: &Vault| String::from_utf8(vault.scrubber().whole(echo.as_bytes()).unwrap()).unwrap();
    let later = shown(&vault("aws", &[], None));
    assert_eq!(later.split_whitespace().last(), Some("eu-west-1"), "it was shown anyway: {later}");
    for secret in
        ["abcdef.0123456789abcdef", "s3cr3t-k3y-0123", LIVE, "0123456789abcdef", "a line that is long"]
    {
        assert!(!later.contains(secret), "{secret} in {later}");
    }
    let other = shown(&vault("gcp", &[], None));
    assert!(!other.contains("abcdef.0123456789abcdef"), "a token of any Machine: {other}");
    assert!(other.contains("s3cr3t-k3y-0123"), "what another plugin knows is none of its business: {other}");
    let reveals = vault("aws", &[("region", "s3cr3t-k3y-0123")], None);
    assert!(shown(&reveals).contains("s3cr3t-k3y-0123"), "what the grants reveal is shown");
    assert!(!reveals.scrub_text(&echo).contains("s3cr3t-k3y-0123"), "and not in logs");
}

const LIVE: &str = "ya29.a0AfH6SMBx7Qk2Zt9Lw";
const MACHINE: &str = "#cloud-config\n# a line that is long enough\nbootstrap: abcdef.0123456789abcdef\n";

#[test]
fn known_values_expire() {
    let now = Arc::new(Mutex::new(Timestamp::UNIX_EPOCH));
    let clock = Arc::clone(&now);
    let known = KnownValues::new(Arc::new(move || *clock.lock().unwrap())).to(&PluginName::new("p"));
    let shows = |value: &str| {
        known.memories().iter().all(|memory| {
            let mut found = Vec::new();
            memory.find(value.as_bytes(), &BTreeSet::new(), &mut found);
            found.is_empty()
        })
    };
    known.credential(b"first0123456789", None);
    let ends = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_hours(12);
    known.credential(b"longlived0123456789", Some(ends));
    *now.lock().unwrap() += jiff::SignedDuration::from_mins(50);
    known.credential(b"second0123456789", None);
    assert!(!shows("first0123456789") && !shows("second0123456789"));
    *now.lock().unwrap() += jiff::SignedDuration::from_mins(40);
    known.credential(b"third0123456789", None);
    assert!(shows("first0123456789"), "after an hour");
    assert!(!shows("second0123456789") && !shows("longlived0123456789"));
    for number in 0..30_000u64 {
        known.signature(
            format!("{:064x}", u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c)).as_bytes(),
        );
    }
    assert!(!shows(&format!("{:064x}", u128::from(29_999u64).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c))));
}
