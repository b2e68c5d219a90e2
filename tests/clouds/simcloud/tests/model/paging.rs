use proptest::prelude::*;
use serde_json::Value;
use simcloud::Method;

use super::{Harness, code, text, wanted};

/// Reads all pages; between two pages, `meanwhile` happens.
fn read_all(
    harness: &mut Harness,
    query: &str,
    limit: usize,
    mut meanwhile: impl FnMut(&mut Harness),
) -> Vec<String> {
    let mut names = Vec::new();
    let mut cursor = String::new();
    loop {
        let (status, page) = harness.get(&format!("/v1/vms?limit={limit}&cursor={cursor}{query}"));
        assert_eq!(status, 200, "{page}");
        let vms = page["vms"].as_array().unwrap();
        assert!(vms.len() <= limit);
        names.extend(vms.iter().map(|vm| text(&vm["name"])));
        match page.get("nextCursor") {
            Some(next) => cursor = text(next),
            None => return names,
        }
        meanwhile(harness);
    }
}

#[test]
fn a_page_has_100_vms_unless_asked_otherwise() {
    let mut harness = Harness::new();
    for number in 0..201 {
        harness.vm(&format!("vm-{number}"));
    }
    assert_eq!(harness.names("/v1/vms").len(), 100);
    assert_eq!(harness.names("/v1/vms?limit=1000").len(), 201);
    for invalid in ["limit=0", "limit=1001", "limit=many", "cursor=%00", "cursor=YWZ0ZXI6eA"] {
        assert_eq!(
            code(&harness.get(&format!("/v1/vms?{invalid}"))),
            (400, "invalid_parameter"),
            "{invalid}"
        );
    }
}

#[test]
fn a_full_last_page_has_no_cursor() {
    let mut harness = Harness::new();
    harness.vm("a");
    harness.vm("b");
    let (_, page) = harness.get("/v1/vms?limit=2");
    assert_eq!(page.get("nextCursor"), None);
}

proptest! {
    #[test]
    fn paging_returns_each_vm_that_stays_exactly_once(
        vms in 0..60usize,
        limit in 1..20usize,
        other_tags in prop::collection::vec(any::<bool>(), 60),
        deletions in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let mut harness = Harness::new();
        let mut ids = Vec::new();
        for (number, is_other) in other_tags.iter().enumerate().take(vms) {
            let mut body = wanted(&format!("vm-{number:02}"));
            body["tags"]["cluster"] = Value::from(if *is_other { "other" } else { "c1" });
            let (_, vm) = harness.create(&format!("key-{number}"), &body);
            if !is_other {
                ids.push((text(&vm["id"]), text(&vm["name"])));
            }
        }
        let mut deletions = deletions.into_iter();
        let mut deleted = Vec::new();
        let mut added = 0;
        let all = ids.clone();
        let mut names = read_all(&mut harness, "&tag=cluster:c1", limit, |harness| {
            if let Some(victim) = deletions.next() && !ids.is_empty() {
                let (id, name) = ids.remove(victim.index(ids.len()));
                harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null);
                harness.pass(60_000);
                deleted.push(name);
            }
            if added < 10 {
                added += 1;
                harness.vm(&format!("extra-{added}"));
            }
        });
        names.retain(|name| !name.starts_with("extra"));
        let stayed: Vec<&String> = all.iter().map(|(_, name)| name).filter(|name| !deleted.contains(name)).collect();
        for name in &stayed {
            prop_assert_eq!(names.iter().filter(|seen| seen == name).count(), 1, "{} in {:?}", name, names);
        }
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        prop_assert_eq!(sorted.len(), names.len(), "a VM came twice");
    }
}
