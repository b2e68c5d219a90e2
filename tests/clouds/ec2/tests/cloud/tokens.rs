use crate::support::{Client, id};

#[tokio::test]
async fn one_token_gives_one_instance_whatever_becomes_of_it() {
    let client = Client::start().await;
    let first = client.run("t-1", &[]).await;
    assert_eq!(first.get("name"), Some("pending"));
    let again = client.run("t-1", &[]).await;
    assert_eq!(id(&again), id(&first));
    assert_eq!(again.get("privateDnsName"), first.get("privateDnsName"));
    assert_eq!(again.get("name"), Some("running"));
    assert_ne!(id(&client.run("t-2", &[]).await), id(&first));

    let other = client.run("t-1", &[("UserData", "b3RoZXI=")]).await;
    assert_eq!((other.status, other.code()), (400, "IdempotentParameterMismatch"));

    client.call("TerminateInstances", &[("InstanceId.1", &id(&first))]).await;
    let late = client.run("t-1", &[]).await;
    assert_eq!((late.status, late.code()), (400, "IdempotentInstanceTerminated"));

    let stats = client.cloud.stats();
    assert_eq!((stats.created, stats.terminated, stats.replayed, stats.duplicates_ever), (2, 1, 1, 0));
    assert_eq!(client.cloud.live_instances().await.unwrap().len(), 1);
}

#[tokio::test]
async fn of_requests_with_one_token_at_once_one_makes_the_instance() {
    let client = Client::start().await;
    let replies = tokio::join!(client.run("t", &[]), client.run("t", &[]), client.run("t", &[]));
    assert_eq!(id(&replies.0), id(&replies.1));
    assert_eq!(id(&replies.0), id(&replies.2));
    assert_eq!(client.cloud.instances().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_refused_creation_does_not_use_its_token_up_and_a_token_is_found_by_filter() {
    let client = Client::start().await;
    assert_eq!(client.run("t", &[("InstanceType", "zz.large")]).await.code(), "InvalidParameterValue");
    let made = id(&client.run("t", &[]).await);
    client.run("u", &[]).await;
    let filter = [("Filter.1.Name", "client-token"), ("Filter.1.Value.1", "t")];
    assert_eq!(client.call("DescribeInstances", &filter).await.all("instanceId"), [made]);
    let filter = [("Filter.1.Name", "client-token"), ("Filter.1.Value.1", "nobody's")];
    assert_eq!(client.call("DescribeInstances", &filter).await.all("instanceId"), Vec::<&str>::new());
}

#[tokio::test]
async fn without_tokens_each_request_makes_an_instance_and_twins_are_counted() {
    let client = Client::start().await;
    let run = client.instance("uid");
    let parameters: Vec<(&str, &str)> =
        run.iter().filter(|(name, _)| name != "ClientToken").map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let first = id(&client.call("RunInstances", &parameters).await);
    client.call("RunInstances", &parameters).await;
    assert_eq!(client.cloud.stats().duplicates, 1);
    client.call("TerminateInstances", &[("InstanceId.1", &first)]).await;
    let stats = client.cloud.stats();
    assert_eq!((stats.duplicates, stats.duplicates_ever, stats.created_by_uid["uid"]), (0, 1, 2));
}
