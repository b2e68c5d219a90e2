//! Answers of EC2: XML of a cloud that lies.

use std::cell::Cell;
use std::collections::BTreeSet;

use machinist_sdk::driver::{HttpAnswer, HttpRequest, NoAnswerReason, Request};
use machinist_sdk::mock::{MockHost, Place, a_class, a_request, with_id};
use native_aws_driver::AwsDriver;
use roxmltree::{Document, Node};
use serde_json::{Value, json};

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "ec2",
    about: "answers of EC2 in XML: only an instance with the Machine's own mark or token is ordered away",
    grammar: Grammar::Xml,
    samples,
    words: &[
        "reservationSet",
        "instancesSet",
        "item",
        "instanceId",
        "instanceState",
        "running",
        "terminated",
        "pending",
        "shutting-down",
        "tagSet",
        "machinist.dev/cluster",
        "machinist.dev/machine-uid",
        "c1",
        "uid-1",
        "uid-2",
        "machine-1",
        "clientToken",
        "key-1",
        "nextToken",
        "i-1",
        "i-2",
        "<Code>InvalidInstanceID.NotFound</Code>",
        "<!DOCTYPE a [<!ENTITY b \"&b;\">]>",
        SEPARATOR,
    ],
    share: 50,
    check,
};

/// Between the answers of one call.
const SEPARATOR: &str = "\n=====\n";
const UID: &str = "uid-1";
const CLUSTER: &str = "c1";
const KEY: &str = "key-1";
const OWN_ID: &str = "i-00000000000000001";

fn samples() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for recording in samples::folder("plugins/aws/recordings", ".json") {
        let recording: Value = serde_json::from_slice(&recording).unwrap_or_default();
        let bodies: Vec<&str> = recording["http"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|exchange| exchange["outcome"]["answer"]["body"]["text"].as_str())
            .collect();
        if !bodies.is_empty() {
            // The Machine of the recordings is the one that is asked for here.
            let text = bodies.join(SEPARATOR).replace("cluster-1", CLUSTER).replace("key-of-uid-1", KEY);
            all.push(text.into_bytes());
        }
    }
    all
}

fn request() -> Request {
    let spec = json!({
        "ami": "ami-1", "machineType": "m5.large", "region": "eu-west-1", "iam": { "name": "nodes" },
        "blockDevices": [{ "ebs": { "volumeSize": 20, "volumeType": "gp3" } }],
        "networkInterfaces": [{ "securityGroupIDs": ["sg-1"], "subnetID": "subnet-1" }],
        "tags": { "kubernetes.io/cluster/lab": "1", "kubernetes.io/role/node": "1" },
    });
    a_request(1, &a_class(&spec))
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let answers: Vec<&str> = text.split(SEPARATOR).collect();
    let mut shape = Shape::of("");
    for status in [200, 400] {
        for operation in ["create", "status", "delete", "list", "initialize"] {
            for request in [request(), with_id(&request(), &format!("aws:///eu-west-1/{OWN_ID}"))] {
                shape = shape.and(call(operation, &request, status, &answers)?);
            }
        }
    }
    Ok(shape)
}

fn call(operation: &str, request: &Request, status: u16, answers: &[&str]) -> Verdict {
    let asked = Cell::new(0_usize);
    let host = MockHost::new(|_: &HttpRequest| {
        let number = asked.replace(asked.get() + 1);
        let body =
            answers.get(number % answers.len().max(1)).ok_or(NoAnswerReason::TimedOut)?.as_bytes().to_vec();
        let headers = vec![("content-type".to_owned(), "text/xml".to_owned())];
        Ok(HttpAnswer { status, headers, body })
    });
    let host = host
        .secret("providerAccessKeyId", "AKIA1", &[])
        .secret("providerSecretAccessKey", "canary-Zx9-0123456789abcdef", &[])
        .user_data("#cloud-config", &[Place::form("UserData")]);
    let driver = host.driver::<AwsDriver>();
    let message = match operation {
        "create" => driver.create(request).map(|made| format!("{made:?}")),
        "status" => driver.get_status(request).map(|vm| format!("{:?}", vm.state)),
        "delete" => driver.delete(request).map(|deleted| format!("{deleted:?}")),
        "initialize" => driver.initialize(request).map(|vm| format!("{:?}", vm.state)),
        _ => driver
            .list(&request.class, CLUSTER, None)
            .map(|page| format!("{} machines", page.machines.len().min(3))),
    };
    let message = message.unwrap_or_else(|failure| format!("{:?} {}", failure.code, failure.message));
    promise(message.len() < 100_000, || "an answer floods".to_owned())?;
    promise(asked.get() <= 250, || format!("{} requests in one call", asked.get()))?;
    let own = own(answers);
    for request in host.seen() {
        for id in terminated(&request) {
            promise(own.contains(&id), || {
                format!("{operation} orders {id} away, which nothing shows to be its own")
            })?;
        }
    }
    Ok(Shape::of(&message))
}

/// The instances that a request orders away.
fn terminated(request: &HttpRequest) -> Vec<String> {
    let body = request.body.clone().unwrap_or_default();
    let fields: Vec<(String, String)> = url::form_urlencoded::parse(&body).into_owned().collect();
    let is_order = fields.iter().any(|(name, value)| name == "Action" && value == "TerminateInstances");
    let ids = fields.into_iter().filter(|(name, _)| is_order && name.starts_with("InstanceId."));
    ids.map(|(_, id)| id).collect()
}

/// The instances that some answer shows with the mark of the Machine, or with its token.
fn own(answers: &[&str]) -> BTreeSet<String> {
    let documents = answers.iter().filter_map(|answer| Document::parse(answer).ok()).collect::<Vec<_>>();
    let nodes = documents.iter().flat_map(|document| document.descendants());
    let instances = nodes.filter(|node| child(*node, "instanceId").is_some());
    instances.filter(|node| is_own(*node)).filter_map(|node| child(node, "instanceId")).collect()
}

fn is_own(instance: Node<'_, '_>) -> bool {
    let tags: Vec<(String, String)> = instance
        .descendants()
        .filter_map(|node| Some((verbatim(node, "key")?, verbatim(node, "value").unwrap_or_default())))
        .collect();
    let has = |key: &str, value: &str| tags.iter().any(|(known, is)| known == key && is == value);
    // In one cluster the name counts like the uid: a Machine that was restored has another uid.
    let is_named = has("machinist.dev/machine-uid", UID) || has("Name", "machine-1");
    let token = child(instance, "clientToken").unwrap_or_default();
    (has("machinist.dev/cluster", CLUSTER) && is_named) || token.starts_with(KEY)
}

fn child(node: Node<'_, '_>, name: &str) -> Option<String> {
    Some(verbatim(node, name)?.trim().to_owned())
}

fn verbatim(node: Node<'_, '_>, name: &str) -> Option<String> {
    let child = node.children().find(|child| child.is_element() && child.tag_name().name() == name)?;
    Some(child.text().unwrap_or_default().to_owned())
}
