use std::collections::BTreeSet;

use expect_test::expect;
use proptest::prelude::*;

use super::*;

const UID: &str = "0b2f3c1e-7d5a-4e0f-9a54-3f1f6f3f2a10";

fn uid() -> Uid {
    Uid::new(UID)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn request<'a>(uid: &'a Uid, machine_name: &'a Name, extra_groups: &'a str) -> TokenRequest<'a> {
    TokenRequest { uid, machine_name, attempt: 0, expires: at(1_200), extra_groups }
}

const RANDOM: [u8; 16] = [0, 9, 10, 35, 36, 71, 251, 1, 2, 3, 4, 5, 6, 7, 8, 9];

#[test]
fn ids_stay_the_same_for_ever() {
    let ids: Vec<String> = (0..ATTEMPTS).map(|attempt| id(&uid(), attempt)).collect();
    expect!["80t5tn ldca3o fndzea 003jof"].assert_eq(&ids.join(" "));
    expect!["cijgk1"].assert_eq(&id(&Uid::new(""), 0));
}

#[test]
fn ten_thousand_machines_get_their_ids_without_running_out_of_attempts() {
    let mut taken = BTreeSet::new();
    for machine in 0..10_000 {
        let uid = Uid::new(format!("machine-{machine}"));
        assert!((0..ATTEMPTS).any(|attempt| taken.insert(id(&uid, attempt))), "{uid}");
    }
}

#[test]
fn the_secret_has_the_fields_that_kubernetes_reads() {
    let (uid, name) = (uid(), Name::new("shoot--a--worker-1"));
    let secret = describe(&request(&uid, &name, "system:bootstrappers:worker"), &RANDOM).unwrap();
    assert_eq!(secret.name.as_str(), format!("bootstrap-token-{}", secret.token.id()));
    let fields: String = secret.fields.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    expect![[r#"
        auth-extra-groups=system:bootstrappers:worker
        description=Lets machine shoot--a--worker-1 join the cluster
        expiration=1970-01-01T00:20:00Z
        token-id=80t5tn
        token-secret=09az0zz123456789
        usage-bootstrap-authentication=true
        usage-bootstrap-signing=true
    "#]]
    .assert_eq(&fields);
}

#[test]
fn without_extra_groups_there_is_no_such_field() {
    let (uid, name) = (uid(), Name::new("m"));
    let secret = describe(&request(&uid, &name, ""), &RANDOM).unwrap();
    assert!(!secret.fields.contains_key(field::EXTRA_GROUPS));
}

#[test]
fn bytes_that_would_favour_some_characters_are_left_out() {
    let mut random = vec![252, 253, 254, 255];
    random.extend(RANDOM);
    assert_eq!(draw(&random), draw(&RANDOM));
    let usable: Vec<u8> = (0..252).collect();
    let drawn: String = usable.chunks(SECRET_CHARS).map(draw).collect();
    for char in ALPHABET {
        assert_eq!(drawn.bytes().filter(|drawn| drawn == char).count(), 7, "{}", char::from(*char));
    }
}

#[test]
fn too_few_random_bytes_are_an_error() {
    let (uid, name) = (uid(), Name::new("m"));
    let error = describe(&request(&uid, &name, ""), &[255; 64]).unwrap_err();
    assert_eq!(error, NotEnoughRandomness { given: 64 });
}

#[test]
fn a_token_and_its_secret_do_not_show_the_value_in_debug_output() {
    let (uid, name) = (uid(), Name::new("m"));
    let secret = describe(&request(&uid, &name, ""), &RANDOM).unwrap();
    let half = secret.token.secret.clone();
    assert!(secret.token.reveal().ends_with(&half));
    assert!(!format!("{secret:?} {:?}", secret.token).contains(&half));
}

/// A Secret that was made for the uid, with an end, and `change` applied.
fn existing(ends: &str, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) -> BTreeMap<String, Vec<u8>> {
    let (uid, name) = (uid(), Name::new("m"));
    let secret = describe(&request(&uid, &name, ""), &RANDOM).unwrap();
    let mut fields: BTreeMap<String, Vec<u8>> =
        secret.fields.into_iter().map(|(name, value)| (name.to_owned(), value.into_bytes())).collect();
    fields.insert(field::EXPIRATION.to_owned(), ends.as_bytes().to_owned());
    change(&mut fields);
    fields
}

/// At second 1000, with 1000 seconds wanted.
fn decide(owner: Option<&str>, fields: &BTreeMap<String, Vec<u8>>) -> Existing {
    on_existing(ExistingSecret { owner, fields }, &uid(), 0, at(1_000), at(2_000))
}

fn token() -> Token {
    Token::new(&id(&uid(), 0), &draw(&RANDOM)).unwrap()
}

#[test]
fn a_token_with_half_of_its_time_left_is_kept() {
    for ends in [1_500, 1_999, 2_000, 9_999] {
        let fields = existing(&expiration(at(ends)), |_| ());
        assert_eq!(decide(Some(UID), &fields), Existing::Keep { token: token() }, "{ends}");
    }
}

#[test]
fn a_token_that_has_ended_or_soon_will_is_prolonged_and_keeps_its_value() {
    for ends in [&expiration(at(1_499)), &expiration(at(1_000)), &expiration(at(0)), "soon", ""] {
        let fields = existing(ends, |_| ());
        assert_eq!(
            decide(Some(UID), &fields),
            Existing::Extend { token: token(), expires: at(2_000) },
            "{ends}"
        );
    }
    let endless = existing("", |fields| drop(fields.remove(field::EXPIRATION)));
    assert_eq!(decide(Some(UID), &endless), Existing::Extend { token: token(), expires: at(2_000) });
}

#[test]
fn a_secret_of_another_or_of_nobody_is_left_alone() {
    let fields = existing(&expiration(at(0)), |_| ());
    for owner in [None, Some(""), Some("another-uid")] {
        assert_eq!(decide(owner, &fields), Existing::ForeignTryNext);
    }
}

type Damage = fn(&mut BTreeMap<String, Vec<u8>>);

#[test]
fn a_damaged_token_is_distinguished() {
    let damages: [Damage; 4] = [
        |fields| drop(fields.remove(field::TOKEN_SECRET)),
        |fields| drop(fields.insert(field::TOKEN_SECRET.to_owned(), b"short".to_vec())),
        |fields| drop(fields.insert(field::TOKEN_SECRET.to_owned(), vec![0xff; 16])),
        |fields| drop(fields.insert(field::TOKEN_ID.to_owned(), b"abcdef".to_vec())),
    ];
    for damage in damages {
        assert_eq!(decide(Some(UID), &existing(&expiration(at(2_000)), damage)), Existing::Damaged);
    }
}

#[test]
fn an_end_is_written_in_whole_seconds_and_read_back() {
    let text = expiration(Timestamp::from_millisecond(1_234_567).unwrap());
    assert_eq!((text.as_str(), text.parse::<Timestamp>().unwrap()), ("1970-01-01T00:20:34Z", at(1_234)));
}

proptest! {
    #[test]
    fn any_uid_and_attempt_make_a_sound_id(uid in any::<String>(), attempt in any::<u32>()) {
        let uid = Uid::new(uid);
        prop_assert!(Token::new(&id(&uid, attempt), "0123456789abcdef").is_some());
        prop_assert_ne!(id(&uid, attempt), id(&uid, attempt.wrapping_add(1)));
    }

    #[test]
    fn whatever_is_in_the_secret_a_decision_comes_out(
        ends in any::<String>(), secret in any::<Vec<u8>>(), now in -1_000..3_000_i64, wanted in -1_000..3_000_i64,
    ) {
        let fields = existing(&ends, |fields| drop(fields.insert(field::TOKEN_SECRET.to_owned(), secret)));
        let decided = on_existing(ExistingSecret { owner: Some(UID), fields: &fields }, &uid(), 0, at(now), at(wanted));
        prop_assert_ne!(decided, Existing::ForeignTryNext);
    }
}
