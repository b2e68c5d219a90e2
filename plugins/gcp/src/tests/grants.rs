//! The shipped grants are those that the driver needs.

use std::collections::BTreeSet;

use super::harness::{ENDPOINT, Harness, request};

const GRANTS: &str = include_str!("../../grants.yaml");
const PROFILE: &str = include_str!("../../conformance.yaml");
const SAMPLE: &str = include_str!("../../../../deploy/samples/gcp/10-plugin.yaml");

/// Lines without comments and indentation.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Returns the value of the first line with this field.
fn first<'a>(field: &str, lines: &[&'a str]) -> BTreeSet<&'a str> {
    let value = lines.iter().find_map(|line| line.strip_prefix(field)).expect("the field is there");
    value.trim().trim_matches(['[', ']']).split(", ").collect()
}

#[test]
fn a_life_needs_all_granted_methods_and_no_other_path() {
    let harness = Harness::new();
    let mut machine = request(1);
    harness.create(&mut machine).unwrap();
    harness.status(&machine).unwrap();
    harness.driver().reboot(&machine).unwrap();
    harness.driver().node_capacity(&machine.class).unwrap();
    harness.list(&machine.class, "c1").unwrap();
    harness.delete(&mut machine).unwrap();
    let sent = harness.host.sent();
    let methods: BTreeSet<&str> = sent.iter().map(|request| request.method.as_str()).collect();
    let lines = lines(GRANTS);
    assert_eq!(methods, first("methods:", &lines));
    let [path] = first("paths:", &lines).into_iter().collect::<Vec<_>>()[..] else { panic!("one path") };
    for request in &sent {
        let target = request.url.strip_prefix(ENDPOINT).expect("requests go to Google");
        assert!(target.starts_with(path), "{target}");
    }
}

#[test]
fn profile_and_sample_have_the_shipped_grants() {
    for text in [PROFILE, SAMPLE] {
        let known = lines(text);
        for line in lines(GRANTS) {
            assert!(known.contains(&line), "{line}");
        }
    }
}
