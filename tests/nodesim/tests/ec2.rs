//! Kubelets of the instances of a real moto, against a tiny API server.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ec2::{CLUSTER_TAG, Ec2, Options};
use nodesim::{Config, Ec2Source, NodeSim, Target, Timing, VmEvent, VmSource};
use support::{FakeApi, until};
use tokio::sync::mpsc;

const TOKEN: &str = "abc123.0123456789abcdef";
/// More than one batch of details.
const MANY: usize = 120;
const WAIT: Duration = Duration::from_secs(60);

fn tags(cluster: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(CLUSTER_TAG.to_owned(), cluster.to_owned())])
}

fn source(cloud: &Ec2) -> Ec2Source {
    Ec2Source::new(&cloud.moto_url(), cloud.region()).unwrap().every(Duration::from_millis(20))
}

/// Creates an instance with user data at moto itself.
async fn instance(cloud: &Ec2, cluster: &str, user_data: &str) -> String {
    use base64::Engine as _;
    let fixture = cloud.fixture();
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([("Action", "RunInstances"), ("Version", "2016-11-15"), ("ImageId", &fixture.image_id)])
        .extend_pairs([("InstanceType", fixture.instance_type.as_str()), ("SubnetId", fixture.subnet_id())])
        .append_pair("UserData", &base64::engine::general_purpose::STANDARD.encode(user_data))
        .extend_pairs([
            ("TagSpecification.1.ResourceType", "instance"),
            ("TagSpecification.1.Tag.1.Key", CLUSTER_TAG),
        ])
        .append_pair("TagSpecification.1.Tag.1.Value", cluster)
        .finish();
    let scope = format!("Credential=tests/20260101/{}/ec2/aws4_request", cloud.region());
    let authorization = format!("AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=none");
    let request = reqwest::Client::new().post(cloud.moto_url()).header("authorization", authorization);
    let kind = "application/x-www-form-urlencoded";
    let answer = request.header("content-type", kind).body(body).send().await.unwrap().text().await.unwrap();
    let (_, rest) = answer.split_once("<instanceId>").unwrap_or_else(|| panic!("{answer}"));
    rest.split('<').next().unwrap().to_owned()
}

#[tokio::test]
async fn an_instance_becomes_the_node_of_its_private_name_until_it_is_terminated() {
    let cloud = Ec2::start(Options::default()).await.unwrap();
    let api = FakeApi::start().await;
    api.with(|store| store.bootstrap_tokens.insert(TOKEN.to_owned()));
    let config = Config {
        timing: Timing { heartbeat: Duration::from_millis(40), ..Timing::default() },
        ..Config::new(Target::Config(Box::new(api.config().await)))
    };
    let nodes = NodeSim::start(config, Arc::new(source(&cloud).only_tagged(CLUSTER_TAG, "ours"))).unwrap();
    let user_data = format!("#cloud-config\ntoken: {TOKEN}\n");
    let ours = instance(&cloud, "ours", &user_data).await;
    let theirs = instance(&cloud, "theirs", &user_data).await;
    until("the Node is registered", || nodes.stats().registered == 1).await;

    let made = cloud.live_instances().await.unwrap();
    let made = made.iter().find(|instance| instance.id == ours).unwrap();
    let node = api.with(|store| store.nodes[&made.private_dns_name].clone());
    assert_eq!(node["spec"]["providerID"], format!("aws:///{}/{ours}", made.zone));
    until("it is ready", || api.condition(&made.private_dns_name, "Ready").as_deref() == Some("True")).await;
    let labels = &node["metadata"]["labels"];
    assert_eq!(labels["topology.kubernetes.io/region"], "eu-west-1");
    assert_eq!(labels["topology.kubernetes.io/zone"], made.zone.as_str());
    assert_eq!(labels["node.kubernetes.io/instance-type"], "m5.large");
    assert_eq!(node["status"]["capacity"]["cpu"], "2");

    cloud.terminate_by_hand(&theirs).await.unwrap();
    cloud.terminate_by_hand(&ours).await.unwrap();
    until("its kubelet is gone", || nodes.stats().alive == 0).await;
    assert_eq!(nodes.stats().joined, 1);
}

#[tokio::test]
async fn many_instances_are_reported_once_each_and_their_end_too() {
    let cloud = Ec2::start(Options::default()).await.unwrap();
    let mut made = BTreeSet::new();
    for _ in 0..MANY {
        made.insert(cloud.create_foreign(&tags("ours")).await.unwrap());
    }
    let (send, mut receive) = mpsc::channel(1024);
    let following = tokio::spawn(Arc::new(source(&cloud)).follow(send));
    let next = async |receive: &mut mpsc::Receiver<VmEvent>| {
        tokio::time::timeout(WAIT, receive.recv()).await.expect("an event in time").expect("an event")
    };
    let began = Instant::now();
    let VmEvent::All(vms) = next(&mut receive).await else { panic!("the first event is not of all") };
    println!("{MANY} instances were learned in {:?}", began.elapsed());
    assert_eq!(vms.iter().map(|vm| vm.id.clone()).collect::<BTreeSet<_>>(), made);
    let late = cloud.create_foreign(&tags("ours")).await.unwrap();
    let VmEvent::Runs(vm) = next(&mut receive).await else { panic!("the next event is not of a VM") };
    assert_eq!((vm.id.as_str(), vm.cpus, vm.memory_gib), (late.as_str(), 2, 8));
    cloud.terminate_by_hand(&late).await.unwrap();
    let VmEvent::Ended(id) = next(&mut receive).await else { panic!("the last event is not of an end") };
    assert_eq!(id, late);
    following.abort();
}
