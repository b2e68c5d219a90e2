//! What comes from outside is read by parsers that no bytes make panic: neither nonsense, nor something good with a few changes.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index as Place;

use crate::grants::Grants;
use crate::rollout::Rollout;
use crate::rollout::said::Said;
use crate::source::parts::Index;
use crate::source::remote::{Resolved, STATUS_ANNOTATION};
use crate::tape::folder;

const GRANTS: &str = r#"
egress:
- { host: "ec2.*.amazonaws.com", scheme: https, ports: [443], methods: [GET, POST], paths: [/v1/], addresses: [public, private] }
- { host: "127.0.0.1", scheme: http, addresses: loopback }
secrets:
- { key: token, places: [{ header: authorization }, { json: /vm/userData }, { form: UserData }], hosts: [a.example] }
auth:
- { scheme: aws-sigv4, services: [ec2], regions: [eu-west-1] }
- { scheme: basic, hosts: [a.example] }
- { scheme: bearer, hosts: [a.example], header: x-token, keys: { token: [apiToken] } }
- { scheme: oauth2-client-credentials, token-url: "https://login.example/{tenant}/token", scopes: [all] }
- { scheme: jwt-bearer, keys: { service-account: [serviceAccountJSON] } }
- { scheme: keystone, url: "https://identity.example/v3" }
reveal: [region]
limits: { memory_mib: 64, cpu_ms: 1000, calls_per_minute: 100 }
"#;
const ROLLOUT: &str = "mode: canary\nshare: 10%\nclasses: [small]\npromote_after: { calls: 100, minutes: 10 }\n\
                       withdraw: { broken_calls: 3, error_rate: 5%, latency: 2.0, minimum_calls: 20 }\n";
const PARTS: &str = r#"{"encoding":"zstd","parts":[{"configMap":"x-1","sha256":"0000000000000000000000000000000000000000000000000000000000000000"}]}"#;
const STATUS: &str = r#"{"state":"Ready","content":"0000","resolved":{"reference":"a.example/b:1","asked":"","manifest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"},"rollout":{"digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","decision":"withdrawn","reason":"x"}}"#;
const RECORDING: &str = r#"{"format":1,"plugin":"p","digest":"d","operation":"CreateMachine","subject":"m","settings":"{}",
"at":"2027-01-01T00:00:00Z","took_ms":1,"question":null,"chance":"00","log":[{"level":"info","message":"x","fields":[["a","b"]]}],
"limits":{"memory_bytes":1,"table_elements":1,"cpu_ms":1,"deadline_ms":10,"copied_bytes":1,"handles":1},
"secrets":{"keys":[{"key":"token","bytes":3}],"user_data_bytes":null,"placeholders":[],"prefixes":[],"reveals":[]},
"clocks":{"wall_ns":[5,6],"monotonic_ns":[],"remaining_ms":[]},
"levels":{"trace":false,"debug":false,"info":true,"warn":true,"error":true},
"http":[],"end":{"answered":{"answer":{"Ok":null}}}}"#;

/// What parsers stumble over.
const ODD: [&str; 18] = [
    "\0",
    "\u{202e}",
    "\u{feff}",
    "{",
    "[",
    "}",
    "\"",
    ": ",
    "- ",
    "&a *a",
    "!!binary ",
    "-1",
    "1e999",
    "99999999999999999999",
    "~",
    "\n",
    "%%",
    "../",
];

/// A good text with some of it cut out, doubled, or put in.
fn changed(good: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<Place>(), any::<Place>(), prop::sample::select(&ODD[..]), 0..4_u8);
    prop::collection::vec(change, 1..6).prop_map(move |changes| {
        let mut bytes = good.as_bytes().to_vec();
        for (from, to, odd, kind) in changes {
            let (from, to) = (from.index(bytes.len() + 1), to.index(bytes.len() + 1));
            let (from, to) = (from.min(to), from.max(to).min(from.min(to) + 40));
            let piece = bytes.get(from..to).unwrap_or_default().to_vec();
            match kind {
                0 => drop(bytes.drain(from..to)),
                1 => drop(bytes.splice(from..from, piece)),
                2 => drop(bytes.splice(from..from, odd.bytes())),
                _ => drop(bytes.splice(from..to, odd.bytes())),
            }
        }
        bytes
    })
}

fn any_of(good: &'static str) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![3 => changed(good), 1 => prop::collection::vec(any::<u8>(), 0..300)]
}

#[test]
fn what_is_changed_here_is_good_before() {
    Grants::parse(GRANTS).expect("grants");
    Rollout::parse(ROLLOUT).expect("a rollout");
    folder::parse(RECORDING.as_bytes(), Path::new("call.json")).expect("a recording");
    Index::parse(PARTS).expect("an index");
    assert!(Resolved::of_status(STATUS).is_some());
    assert_eq!(Said::of(&[(STATUS_ANNOTATION.to_owned(), STATUS.to_owned())].into()).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier::cases(1_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn grants(bytes in any_of(GRANTS)) {
        let _read = Grants::parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn rollouts(bytes in any_of(ROLLOUT)) {
        let _read = Rollout::parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn indices_of_parts(bytes in any_of(PARTS)) {
        if let Ok(index) = Index::parse(&String::from_utf8_lossy(&bytes)) {
            prop_assert_eq!(Index::parse(&index.to_json()).expect("reads what it wrote"), index);
        }
    }

    #[test]
    fn recordings(bytes in any_of(RECORDING)) {
        if let Err(error) = folder::parse(&bytes, Path::new("call.json")) {
            prop_assert!(error.to_string().contains("call.json"), "{error}");
        }
    }

    #[test]
    fn statuses(bytes in any_of(STATUS)) {
        let text = String::from_utf8_lossy(&bytes);
        let _read = Resolved::of_status(&text);
        let _said = Said::of(&[(STATUS_ANNOTATION.to_owned(), text.into_owned())].into());
    }
}
