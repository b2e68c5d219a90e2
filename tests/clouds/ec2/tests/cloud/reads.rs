use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Client, id};

#[tokio::test]
async fn more_than_a_hundred_instances_come_in_pages_each_once() {
    let client = Client::start().await;
    for _ in 0..105 {
        client.cloud.create_foreign(&BTreeMap::new()).await.unwrap();
    }
    let mut seen = BTreeSet::new();
    let mut pages = Vec::new();
    let mut next: Option<String> = None;
    loop {
        let parameters: Vec<(&str, &str)> = next.iter().map(|token| ("NextToken", token.as_str())).collect();
        let page = client.call("DescribeInstances", &parameters).await;
        pages.push(page.all("instanceId").len());
        seen.extend(page.all("instanceId").into_iter().map(str::to_owned));
        next = page.get("nextToken").map(str::to_owned);
        if next.is_none() {
            break;
        }
    }
    assert_eq!((pages, seen.len()), (vec![100, 5], 105));
    assert_eq!(client.cloud.instances().await.unwrap().len(), 105);
    let page = client.call("DescribeInstances", &[("MaxResults", "10")]).await;
    assert_eq!(page.all("instanceId").len(), 10);
}

#[tokio::test]
async fn prefixes_are_kept_and_shown_at_their_interface() {
    let client = Client::start().await;
    let made = client.run("t", &[]).await;
    client.run("u", &[]).await;
    let interface = made.get("networkInterfaceId").unwrap();
    let parameters = [("NetworkInterfaceId", interface), ("Ipv6PrefixCount", "2")];
    let assigned = client.call("AssignIpv6Addresses", &parameters).await;
    assert!(assigned.text.contains("<assignedIpv6PrefixSet><item>2001:db8:"), "{}", assigned.text);
    let parameters = [("InstanceId.1", id(&made))];
    let parameters = parameters.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(client.call("DescribeInstances", &parameters).await.all("ipv6Prefix").len(), 2);
    assert_eq!(client.call("DescribeInstances", &[]).await.all("ipv6Prefix").len(), 2);
    let nobody = [("NetworkInterfaceId", "eni-00000000"), ("Ipv6PrefixCount", "1")];
    assert_eq!(
        client.call("AssignIpv6Addresses", &nobody).await.code(),
        "InvalidNetworkInterfaceID.NotFound"
    );
}

#[tokio::test]
async fn the_check_of_source_and_destination_is_changed_at_interface_and_instance() {
    let client = Client::start().await;
    let made = client.run("t", &[]).await;
    let interface = made.get("networkInterfaceId").unwrap().to_owned();
    assert_eq!(client.call("DescribeInstances", &[]).await.all("sourceDestCheck"), ["true", "true"]);
    let parameters = [("NetworkInterfaceId", interface.as_str()), ("SourceDestCheck.Value", "false")];
    client.call("ModifyNetworkInterfaceAttribute", &parameters).await;
    assert_eq!(client.call("DescribeInstances", &[]).await.all("sourceDestCheck"), ["false", "false"]);
    assert!(!client.cloud.instances().await.unwrap()[0].interfaces[&interface]);
}
