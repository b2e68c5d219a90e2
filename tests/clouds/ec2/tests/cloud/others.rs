use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ec2::{Ec2, Options};

use crate::support::{Client, id};

const CHILD: &str = "EC2_TESTS_CHILD";

fn process_runs(pid: &str) -> bool {
    // A killed process that was not waited for yet no longer runs.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn moto_ends_when_the_cloud_is_dropped() {
    let cloud = Ec2::start(Options::default()).await.unwrap();
    let pid = cloud.moto_pid().to_string();
    assert!(process_runs(&pid));
    drop(cloud);
    assert!(!process_runs(&pid));
}

/// This test starts itself as the process that is killed.
#[tokio::test]
async fn moto_ends_when_its_starter_is_killed() {
    if std::env::var_os(CHILD).is_some() {
        let cloud = Ec2::start(Options::default()).await.unwrap();
        println!("moto:{}:", cloud.moto_pid());
        std::future::pending::<()>().await;
    }
    let mut child = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "others::moto_ends_when_its_starter_is_killed", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = tokio::io::BufReader::new(child.stdout.take().unwrap());
    let pid = loop {
        let mut line = String::new();
        let read = tokio::io::AsyncBufReadExt::read_line(&mut lines, &mut line).await.unwrap();
        assert!(read > 0, "the child ended");
        if let Some((_, rest)) = line.split_once("moto:") {
            break rest.split(':').next().unwrap().to_owned();
        }
    };
    assert!(process_runs(&pid));
    child.kill().await.unwrap();
    let began = Instant::now();
    while process_runs(&pid) {
        assert!(began.elapsed() < Duration::from_secs(10), "moto {pid} outlives its starter");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn user_data_tags_and_requests_are_read_as_they_arrived() {
    let client = Client::start().await;
    let made = id(&client.run("t", &[("UserData", "I2Nsb3VkLWNvbmZpZyAmICs9")]).await);
    assert_eq!(client.cloud.user_data(&made).await.unwrap(), b"#cloud-config & +=");
    let instance = client.cloud.live_instances().await.unwrap().remove(0);
    assert_eq!(
        (instance.id.as_str(), instance.name(), instance.client_token.as_str()),
        (made.as_str(), Some("t"), "t")
    );
    assert_eq!(instance.tags[ec2::UID_TAG], "t");
    assert_eq!(instance.subnet_id, client.cloud.fixture().subnet_id());
    let entry = client.cloud.journal().remove(0);
    assert_eq!((entry.action.as_str(), entry.outcome.as_str()), ("RunInstances", "ok"));
    assert_eq!((entry.access_key_id.as_str(), entry.region.as_str()), ("AKIATESTS", "eu-west-1"));
    assert_eq!((entry.parameters["ClientToken"].as_str(), entry.parameters["UserData"].len()), ("t", 24));
    assert!(entry.headers.contains(&"authorization".to_owned()));
    assert_eq!(client.cloud.stats().created_by_token["t"], 1);
    client.cloud.forget_requests();
    assert!(client.cloud.journal().is_empty());
}

#[tokio::test]
async fn hands_past_the_proxy_make_and_terminate_instances() {
    let client = Client::start().await;
    let made = id(&client.run("t", &[]).await);
    let tags = BTreeMap::from([("Name", "t"), (ec2::CLUSTER_TAG, "other")]);
    let tags = tags.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let twin = client.cloud.create_foreign(&tags).await.unwrap();
    let named = [("Filter.1.Name", "tag:Name"), ("Filter.1.Value.1", "t")];
    assert_eq!(client.call("DescribeInstances", &named).await.all("instanceId").len(), 2);
    client.cloud.terminate_by_hand(&made).await.unwrap();
    let live = client.cloud.live_instances().await.unwrap();
    assert_eq!(live.iter().map(|instance| &instance.id).collect::<Vec<_>>(), [&twin]);
    assert_eq!((client.cloud.stats().created, client.cloud.stats().terminated), (1, 1));
    assert_eq!(client.run("t", &[]).await.code(), "IdempotentInstanceTerminated");
}
