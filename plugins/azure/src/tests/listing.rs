//! Listings of the cluster's VMs and their remains.

use azure_cloud::{Effect, Options, Rule};
use machinist_sdk::driver::{Code, Listed, Method};
use machinist_sdk::mock::{MockHost, json_answer};
use serde_json::json;

use super::harness::{Stage, class, request, spec};
use crate::AzureDriver;

fn listed(world: &Stage) -> Vec<Listed> {
    let mut all = Vec::new();
    let mut token = None;
    for _ in 0..50 {
        let page = world.list(&class(&spec()), token.as_deref()).unwrap();
        all.extend(page.machines);
        token = page.next;
        if token.is_none() {
            return all;
        }
    }
    panic!("the listing has no end");
}

#[test]
fn a_listing_has_each_machine_once_on_pages_of_any_size() {
    for page_rows in [1, 2, 3, 4, 5, 7, 100] {
        let world = Stage::new(Options { page_rows, ..Options::default() });
        for number in 0..7 {
            world.create_to_end(&mut request(number)).unwrap();
        }
        let mut other = request(9);
        other.cluster = "c2".into();
        world.create_to_end(&mut other).unwrap();
        let mut uids: Vec<String> =
            listed(&world).into_iter().filter_map(|machine| machine.machine_uid).collect();
        uids.sort();
        let expected: Vec<String> = (0..7).map(|number| format!("uid-{number}")).collect();
        assert_eq!(uids, expected, "{page_rows}");
    }
}

#[test]
fn remains_without_a_vm_are_listed_under_their_machine() {
    let world = Stage::plain();
    let mut request = request(1);
    let made = world.create_to_end(&mut request).unwrap();
    let whole = listed(&world);
    assert_eq!(
        (whole[0].provider_id.as_str(), whole[0].machine_name.as_str()),
        (made.provider_id.as_str(), "machine-1")
    );
    assert!(whole[0].created_at_ms.is_some_and(|at| at > 1_700_000_000_000));
    world.fault(Rule::once("DELETE", "virtualMachines", Effect::LeaveParts));
    let _ = world.delete(&request);
    world.pass(1_000);
    assert_eq!(world.resources().len(), 2);
    let left = listed(&world);
    assert_eq!(left.len(), 1);
    assert_eq!(
        (left[0].provider_id.as_str(), left[0].machine_uid.as_deref()),
        (made.provider_id.as_str(), Some("uid-1"))
    );
    world.delete_to_end(&mut request).unwrap();
    assert!(listed(&world).is_empty());
}

#[test]
fn a_mark_with_quotes_is_a_text_and_no_query() {
    let world = Stage::plain();
    world.create_to_end(&mut request(1)).unwrap();
    let host = world.host();
    let unusual = "c' or tags['x'] == '\\";
    let page = host.driver::<AzureDriver>().list(&class(&spec()), unusual, None).unwrap();
    assert!(page.machines.is_empty());
}

#[test]
fn a_foreign_token_is_an_error() {
    let world = Stage::plain();
    assert_eq!(world.list(&class(&spec()), Some("other")).unwrap_err().code, Code::InvalidArgument);
    let token = json!({ "part": "marked", "skip": "unusual" }).to_string();
    assert_eq!(world.list(&class(&spec()), Some(&token)).unwrap_err().code, Code::InvalidArgument);
}

/// A host whose Azure has no VM, and whose Resource Graph names another page after each one: always the same, or a new
/// one each time.
fn endless(is_new_page: bool) -> MockHost<'static> {
    let mut number = 0;
    let mut host = MockHost::new(move |request| {
        if request.method == Method::Get {
            let absent =
                json!({ "error": { "code": "ResourceNotFound", "message": "The Resource was not found." } });
            return Ok(json_answer(404, &absent));
        }
        number += usize::from(is_new_page);
        Ok(json_answer(200, &json!({ "data": [], "$skipToken": format!("skip-{number}") })))
    });
    for (key, value) in Options::default().secrets() {
        host = host.secret(&key, value, &[]);
    }
    host.revealing("subscriptionID")
}

#[test]
fn pages_that_repeat_and_pages_without_an_end_are_errors_after_few_requests() {
    for (is_new_page, most, words) in [(false, 2, "repeats a page token"), (true, 20, "has no end")] {
        let host = endless(is_new_page);
        let driver = host.driver::<AzureDriver>();
        for is_deletion in [false, true] {
            host.clear();
            let searched = if is_deletion {
                driver.delete(&request(1)).map(|_| ())
            } else {
                driver.get_status(&request(1)).map(|_| ())
            };
            let failure = searched.unwrap_err();
            assert_eq!((failure.code, failure.terminal), (Code::Internal, false), "{failure}");
            assert!(failure.message.contains(words), "{failure}");
            assert!(failure.message.contains("look at what is between"), "{failure}");
            let queries = host.sent().into_iter().filter(|sent| sent.method == Method::Post);
            assert_eq!(queries.count(), most, "{failure}");
        }
    }
    // The host asks for one page after the other.
    let token = json!({ "part": "marked", "skip": "skip-0" }).to_string();
    let failure =
        endless(false).driver::<AzureDriver>().list(&class(&spec()), "c1", Some(&token)).unwrap_err();
    assert_eq!((failure.code, failure.terminal), (Code::Internal, false), "{failure}");
}
