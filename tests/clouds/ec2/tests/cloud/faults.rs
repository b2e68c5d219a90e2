use std::time::{Duration, Instant};

use ec2::{Effect, Rule};

use crate::support::{Client, id};

#[tokio::test]
async fn throttling_and_capacity_are_answered_as_the_cloud_does_and_do_nothing() {
    let client = Client::start().await;
    let faults = client.cloud.faults();
    faults.add(Rule::new(Effect::throttle(Some(7))).on("RunInstances").first(1).named("throttle"));
    faults.add(Rule::new(Effect::error("InsufficientInstanceCapacity")).on("RunInstances").first(1));
    faults.add(Rule::new(Effect::error("InsufficientFreeAddressesInSubnet")).on("RunInstances").first(1));
    let throttled = client.run("t", &[]).await;
    assert_eq!((throttled.status, throttled.code()), (503, "RequestLimitExceeded"));
    assert_eq!(throttled.retry_after.as_deref(), Some("7"));
    let full = client.run("t", &[]).await;
    assert_eq!((full.status, full.code()), (500, "InsufficientInstanceCapacity"));
    let subnet = client.run("t", &[]).await;
    assert_eq!((subnet.status, subnet.code()), (400, "InsufficientFreeAddressesInSubnet"));
    assert!(client.cloud.instances().await.unwrap().is_empty());
    assert_eq!(client.run("t", &[]).await.status, 200);
    let stats = client.cloud.stats();
    assert_eq!(stats.faults_fired["throttle"], 1);
    assert_eq!(stats.requests["RunInstances"]["RequestLimitExceeded"], 1);
}

#[tokio::test]
async fn a_rule_of_a_client_spares_the_others() {
    let client = Client::start().await;
    client.cloud.faults().add(Rule::new(Effect::error("UnauthorizedOperation")).of("somebody-else"));
    assert_eq!(client.call("DescribeInstances", &[]).await.status, 200);
    client.cloud.faults().add(Rule::new(Effect::error("UnauthorizedOperation")).of("AKIATESTS"));
    assert_eq!(client.call("DescribeInstances", &[]).await.status, 403);
    client.cloud.faults().clear();
    assert_eq!(client.call("DescribeInstances", &[]).await.status, 200);
}

#[tokio::test]
async fn of_a_lost_answer_the_work_is_done_and_of_a_lost_request_it_is_not() {
    let client = Client::start().await;
    let run = client.instance("t");
    let run: Vec<(&str, &str)> = run.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let lost = Effect::LostRequest { hold: Duration::ZERO };
    client.cloud.faults().add(Rule::new(lost).on("RunInstances").nth(1));
    client.cloud.faults().add(Rule::new(Effect::lost_answer()).on("RunInstances").nth(2));
    assert_eq!(client.attempt("RunInstances", &run).await, None);
    assert!(client.cloud.instances().await.unwrap().is_empty());
    assert_eq!(client.attempt("RunInstances", &run).await, None);
    let made = client.cloud.instances().await.unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!(id(&client.call("RunInstances", &run).await), made[0].id);
    assert_eq!(client.cloud.stats().requests["RunInstances"]["lost"], 2);
}

#[tokio::test]
async fn broken_answers_are_broken_after_the_work() {
    let client = Client::start().await;
    for (effect, token) in [
        (Effect::CutXml, "cut"),
        (Effect::OtherShape, "shape"),
        (Effect::WrongLength, "length"),
        (Effect::Html { status: 502, is_after_work: true }, "html"),
    ] {
        client.cloud.faults().clear();
        client.cloud.faults().add(Rule::new(effect.clone()).on("RunInstances"));
        let run = client.instance(token);
        let run: Vec<(&str, &str)> =
            run.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let reply = client.attempt("RunInstances", &run).await;
        match (effect, reply) {
            (Effect::WrongLength, reply) => assert_eq!(reply, None),
            (Effect::CutXml, Some(reply)) => {
                assert!(reply.status == 200 && roxmltree::Document::parse(&reply.text).is_err());
            }
            (Effect::OtherShape, Some(reply)) => {
                assert!(reply.status == 200 && roxmltree::Document::parse(&reply.text).is_ok());
                assert_eq!(reply.get("instanceId"), None);
            }
            (_, Some(reply)) => {
                assert_eq!((reply.status, reply.content_type.as_str()), (502, "text/html"));
                assert!(reply.text.contains("<html>"));
            }
            (effect, None) => panic!("{effect:?} gave no answer"),
        }
    }
    assert_eq!(client.cloud.instances().await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_page_token_repeats_and_a_name_is_missing_as_long_as_the_rule_says() {
    let client = Client::start().await;
    client.run("t", &[]).await;
    client.cloud.faults().add(Rule::new(Effect::RepeatedPageToken).on("DescribeInstances").first(2));
    let first = client.call("DescribeInstances", &[]).await;
    let token = first.get("nextToken").unwrap();
    let second = client.call("DescribeInstances", &[("NextToken", token)]).await;
    assert_eq!((second.get("nextToken"), second.all("instanceId").len()), (Some(token), 1));
    client.cloud.faults().add(Rule::new(Effect::NoPrivateDnsName).on("DescribeInstances").first(1));
    assert_eq!(client.call("DescribeInstances", &[]).await.get("privateDnsName"), None);
    let named = client.call("DescribeInstances", &[]).await;
    assert!(named.all("privateDnsName").iter().any(|name| name.ends_with("eu-west-1.compute.internal")));
}

#[tokio::test]
async fn a_delay_delays() {
    let client = Client::start().await;
    client.cloud.faults().add(Rule::new(Effect::Delay(Duration::from_millis(300))));
    let began = Instant::now();
    assert_eq!(client.call("DescribeInstances", &[]).await.status, 200);
    assert!(began.elapsed() >= Duration::from_millis(300));
}
