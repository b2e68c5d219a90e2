use std::time::{Duration, Instant};

use futures::{StreamExt, stream};

use crate::support::Client;

/// How many of the tests' clients create at the same time.
const AT_ONCE: usize = 4;
/// moto makes about ninety a second on an idle machine; this is for a busy one.
const LIMIT: Duration = Duration::from_secs(120);

/// Prints its figures; fails only if something is out of all proportion. `EC2_SPEED=1000` measures a thousand.
#[tokio::test]
async fn two_hundred_instances_are_made_and_listed_in_reasonable_time() {
    let count = std::env::var("EC2_SPEED").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    let client = Client::start().await;
    println!("started in {:?}", client.cloud.started_in());
    let began = Instant::now();
    let refusals: Vec<String> = stream::iter(0..count)
        .map(|number| {
            let client = &client;
            async move { client.run(&format!("t-{number}"), &[]).await }
        })
        .buffer_unordered(AT_ONCE)
        .filter(|answer| std::future::ready(answer.status != 200))
        .map(|answer| format!("{answer:?}"))
        .collect()
        .await;
    let took = began.elapsed();
    println!("{count} RunInstances in {took:?}, {:.0}/s", count as f64 / took.as_secs_f64());
    assert!(refusals.is_empty(), "{refusals:#?}");
    for (what, parameters) in [
        ("all", vec![("MaxResults", "1000")]),
        ("by tag", vec![("Filter.1.Name", "tag:Name"), ("Filter.1.Value.1", "t-7")]),
        (
            "by token",
            vec![("Filter.1.Name", "client-token"), ("Filter.1.Value.1", "t-7"), ("MaxResults", "1000")],
        ),
    ] {
        let began = Instant::now();
        let found = client.call("DescribeInstances", &parameters).await.all("instanceId").len();
        println!("DescribeInstances {what}: {found} in {:?}", began.elapsed());
        assert_eq!(found, if what == "all" { count } else { 1 });
    }
    assert!(took < LIMIT, "{count} instances took {took:?}");
}
