//! Listings of the cluster's instances.

use machinist_sdk::driver::{Code, Listed};

use super::model::wrapped;
use super::takeover::adopts;
use super::world::{Fault, World, answer, request};

/// Returns the entries of all pages.
fn list(world: &World, cluster: &str) -> Vec<Listed> {
    let mut machines = Vec::new();
    let mut token = None;
    loop {
        let page = world.list(cluster, token.as_deref()).unwrap();
        machines.extend(page.machines);
        token = page.next;
        if token.is_none() {
            return machines;
        }
    }
}

#[test]
fn a_listing_shows_each_instance_once_over_all_pages() {
    let world = World::new();
    assert!(list(&world, "c1").is_empty());
    for number in 0..250 {
        world.create(&request(number)).unwrap();
    }
    world.sent();
    let machines = list(&world, "c1");
    assert_eq!(world.sent(), ["DescribeInstances"; 3]);
    let mut uids: Vec<String> = machines
        .into_iter()
        .map(|machine| {
            assert_eq!(machine.created_at_ms, Some(1_767_323_045_000));
            machine.machine_uid.unwrap()
        })
        .collect();
    uids.sort();
    let mut expected: Vec<String> = (0..250).map(|number| format!("uid-{number}")).collect();
    expected.sort();
    assert_eq!(uids, expected);
}

#[test]
fn a_listing_is_of_one_cluster_and_of_what_exists() {
    let world = World::new();
    for (number, cluster) in ["c1", "c1", "c2", "c1"].into_iter().enumerate() {
        let mut request = request(number);
        request.cluster = cluster.into();
        world.create(&request).unwrap();
    }
    world.change(1, |vm| vm.state = "terminated");
    let names = |cluster: &str| -> Vec<(String, Option<String>)> {
        list(&world, cluster).into_iter().map(|machine| (machine.machine_name, machine.machine_uid)).collect()
    };
    let own = |number: usize| (format!("machine-{number}"), Some(format!("uid-{number}")));
    assert_eq!(names("c1"), [own(0), own(3)]);
    assert_eq!(names("c2"), [own(2)]);
}

#[test]
fn a_token_that_repeats_ends_the_listing_with_an_error() {
    let world = World::new();
    adopts(&world);
    let circle = || {
        let body = wrapped("DescribeInstances", "<reservationSet/><nextToken>again</nextToken>");
        Fault::Instead(Ok(answer((200, body))))
    };
    world.fault("DescribeInstances", circle());
    let page = world.list("c1", None).unwrap();
    assert_eq!(page.next.as_deref(), Some("m:again"));
    for token in ["m:again", "k:again"] {
        world.fault("DescribeInstances", circle());
        let error = world.list("c1", Some(token)).unwrap_err();
        assert_eq!(error.code, Code::Internal);
        assert!(error.message.contains("repeats a page token"), "{}", error.message);
    }
    assert_eq!(world.list("c1", Some("another's")).unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn an_instance_that_comes_twice_on_a_page_is_listed_once() {
    let world = World::new();
    let tags = "<tagSet><item><key>machinist.dev/cluster</key><value>c1</value></item></tagSet>";
    let item =
        format!("<item><instancesSet><item><instanceId>i-1</instanceId>{tags}</item></instancesSet></item>");
    let body = wrapped("DescribeInstances", &format!("<reservationSet>{item}{item}</reservationSet>"));
    world.fault("DescribeInstances", Fault::Instead(Ok(answer((200, body)))));
    assert_eq!(world.list("c1", None).unwrap().machines.len(), 1);
}

#[test]
fn what_a_cloud_lists_beside_the_question_is_not_ours() {
    let world = World::new();
    adopts(&world);
    let item = "<item><instancesSet><item><instanceId>i-1</instanceId><tagSet><item><key>machinist.dev/cluster</key>\
                <value>c2</value></item></tagSet></item></instancesSet></item>";
    let body = || wrapped("DescribeInstances", &format!("<reservationSet>{item}</reservationSet>"));
    for token in [None, Some("k:")] {
        world.fault("DescribeInstances", Fault::Instead(Ok(answer((200, body())))));
        assert!(world.list("c1", token).unwrap().machines.is_empty());
    }
}
