use std::time::{Duration, Instant};

use ec2::Lag;

use crate::support::{Client, id};

/// Longer than a test asks, shorter than one waits.
const LAG: Duration = Duration::from_secs(2);

async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < LAG * 10, "it never came true that {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_instance_is_not_shown_at_first_by_any_read() {
    let client = Client::start().await;
    client.cloud.set_lag(Lag { creation: LAG, change: Duration::ZERO });
    let made = id(&client.run("t", &[]).await);
    assert!(client.call("DescribeInstances", &[]).await.all("instanceId").is_empty());
    assert!(client.call("DescribeInstanceStatus", &[]).await.all("instanceId").is_empty());
    let by_id = client.call("DescribeInstances", &[("InstanceId.1", &made)]).await;
    assert_eq!((by_id.status, by_id.code()), (400, "InvalidInstanceID.NotFound"));
    let parameters = [("InstanceId", made.as_str()), ("Attribute", "userData")];
    let attribute = client.call("DescribeInstanceAttribute", &parameters).await;
    assert_eq!(attribute.code(), "InvalidInstanceID.NotFound");
    assert_eq!(id(&client.run("t", &[]).await), made);
    eventually("it is shown", async || {
        client.call("DescribeInstances", &[("InstanceId.1", &made)]).await.status == 200
    })
    .await;
    assert_eq!(client.call("DescribeInstances", &[]).await.all("instanceId"), [made]);
}

#[tokio::test]
async fn a_terminated_instance_is_shown_as_running_for_a_while_to_filters_too() {
    let client = Client::start().await;
    let made = id(&client.run("t", &[]).await);
    let running = [("Filter.1.Name", "instance-state-name"), ("Filter.1.Value.1", "running")];
    client.cloud.set_lag(Lag { creation: Duration::ZERO, change: LAG });
    client.call("TerminateInstances", &[("InstanceId.1", &made)]).await;
    let shown = client.call("DescribeInstances", &running).await;
    assert_eq!((shown.all("instanceId"), shown.get("name")), (vec![made.as_str()], Some("running")));
    assert!(client.cloud.live_instances().await.unwrap().is_empty());
    eventually("the filter sees its end", async || {
        client.call("DescribeInstances", &running).await.all("instanceId").is_empty()
    })
    .await;
    assert_eq!(client.call("DescribeInstances", &[]).await.get("name"), Some("terminated"));
}

#[tokio::test]
async fn a_changed_check_and_prefixes_are_shown_late() {
    let client = Client::start().await;
    let made = client.run("t", &[]).await;
    let interface = made.get("networkInterfaceId").unwrap().to_owned();
    client.cloud.set_lag(Lag { creation: Duration::ZERO, change: LAG });
    let parameters = [("NetworkInterfaceId", interface.as_str()), ("SourceDestCheck.Value", "false")];
    assert_eq!(client.call("ModifyNetworkInterfaceAttribute", &parameters).await.status, 200);
    let parameters = [("NetworkInterfaceId", interface.as_str()), ("Ipv6PrefixCount", "1")];
    assert_eq!(client.call("AssignIpv6Addresses", &parameters).await.status, 200);
    let shown = client.call("DescribeInstances", &[]).await;
    assert_eq!(shown.all("sourceDestCheck"), ["true", "true"]);
    assert!(shown.all("ipv6Prefix").is_empty());
    eventually("the change is shown", async || {
        let shown = client.call("DescribeInstances", &[]).await;
        shown.all("sourceDestCheck") == ["false", "false"] && shown.all("ipv6Prefix").len() == 1
    })
    .await;
}
