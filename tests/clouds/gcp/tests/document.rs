//! The cloud refuses all that Google's document refuses, in Google's form.

use gcp::wire::{Answer, Request};
use gcp::{Cloud, Config, Effect, Rule};
use serde_json::{Value, json};

const BASE: &str = "/compute/v1/projects/machinist-lab";
const ZONE: &str = "europe-west1-b";

struct Lab {
    cloud: Cloud,
    token: String,
    now_ms: u64,
}

impl Lab {
    fn new() -> Self {
        let mut cloud = Cloud::new(Config::default());
        let token = cloud.identity.issue("test", "https://www.googleapis.com/auth/compute", 0);
        Self { cloud, token, now_ms: 0 }
    }

    fn ask(&mut self, method: &str, target: &str, body: &Value) -> Answer {
        let mut request = Request::new(method, &format!("{BASE}{target}")).with_token(&self.token);
        if !body.is_null() {
            request = request.json(body);
        }
        self.cloud.handle(&request, self.now_ms)
    }

    fn get(&mut self, target: &str) -> Value {
        let answer = self.ask("GET", target, &Value::Null);
        assert_eq!(answer.status, 200, "{target}: {}", answer.value());
        answer.value()
    }

    fn insert(&mut self, request_id: &str, body: &Value) -> Answer {
        self.ask("POST", &format!("/zones/{ZONE}/instances?requestId={request_id}"), body)
    }

    fn wait(&mut self) {
        self.now_ms += 1_000;
        self.cloud.advance(self.now_ms);
    }
}

fn id(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

fn instance(name: &str) -> Value {
    json!({
        "name": name,
        "machineType": format!("zones/{ZONE}/machineTypes/e2-medium"),
        "disks": [{
            "boot": true, "autoDelete": true,
            "initializeParams": { "sourceImage": "projects/debian-cloud/global/images/family/debian-12", "diskSizeGb": "20" },
        }],
        "networkInterfaces": [{ "subnetwork": "projects/machinist-lab/regions/europe-west1/subnetworks/nodes" }],
        "labels": { "team": "a" },
    })
}

fn reason(answer: &Answer) -> (u16, String, String) {
    let error = &answer.value()["error"];
    assert_eq!(error["code"], answer.status);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (answer.status, text(&error["errors"][0]["reason"]), text(&error["message"]))
}

#[test]
fn the_document_is_the_one_that_was_extracted() {
    let lab = Lab::new();
    let (revision, digest) = lab.cloud.document();
    assert_eq!(revision, "20261106");
    assert_eq!(digest.len(), 64);
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_created() {
    let mut lab = Lab::new();
    let with = |path: &str, value: Value| {
        let mut body = instance("vm-1");
        *body.pointer_mut(path).unwrap_or(&mut Value::Null) = value.clone();
        if body.pointer(path).is_none() {
            let (parent, name) = path.rsplit_once('/').unwrap();
            body.pointer_mut(parent).unwrap()[name] = value;
        }
        body
    };
    for (path, value, words) in [
        ("/name", json!("VM_1"), "Must be a match of regex"),
        ("/status", json!("RUNNING"), "output only"),
        ("/id", json!("7"), "output only"),
        ("/networkInterfaces/0/ipv6AccessType", json!("EXTERNAL"), "output only"),
        ("/colour", json!("red"), "Unknown name \"colour\""),
        ("/disks/0/initializeParams/size", json!("1"), "Unknown name"),
        ("/scheduling", json!({ "onHostMaintenance": "WAIT" }), "not one of the enum"),
        ("/canIpForward", json!("true"), "TYPE_BOOL"),
        ("/labels/team", json!(7), "TYPE_STRING"),
        ("/disks/0/initializeParams/diskSizeGb", json!("much"), "TYPE_INT64"),
        ("/disks", json!({}), "array"),
        ("/tags", json!({ "items": ["No"] }), "Must be a match of regex"),
        ("/metadata", json!({ "items": [{ "key": "a" }] }), "Required field is missing"),
        (
            "/metadata",
            json!({ "items": [{ "key": "a", "value": "1" }, { "key": "a", "value": "2" }] }),
            "Duplicate",
        ),
        ("/machineType", json!("e2-medium"), "malformed"),
        (
            "/machineType",
            json!(format!("zones/{ZONE}/machineTypes/m1-ultramem-40")),
            "does not exist in zone",
        ),
        ("/labels", json!({ "Team": "a" }), "Label key"),
        ("/networkInterfaces/0/subnetwork", json!("regions/us-east1/subnetworks/nodes"), "cannot be found"),
        ("/scheduling", json!({ "preemptible": true }), "AutomaticRestart"),
    ] {
        let (status, reason, message) = reason(&lab.insert(&id(1), &with(path, value.clone())));
        assert_eq!(status, 400, "{path} {value}");
        assert!(matches!(reason.as_str(), "invalid" | "badRequest"), "{reason}");
        assert!(message.contains(words), "{path} {value}: {message}");
    }
    let mut nameless = instance("x");
    nameless.as_object_mut().unwrap().remove("name");
    assert!(reason(&lab.insert(&id(1), &nameless)).2.contains("Required field is missing"));
    let image = with("/disks/0/initializeParams/sourceImage", json!("projects/x/global/images/y"));
    assert_eq!(reason(&lab.insert(&id(1), &image)).0, 404);
    assert!(lab.cloud.is_empty());
    for (target, words) in [
        ("/zones/europe-west1-b/instances?colour=red", "Unknown name"),
        ("/zones/europe-west1-b/instances?maxResults=many", "whole number"),
        ("/zones/europe-west1-b/instances?maxResults=501", "between 0 and 500"),
        ("/zones/europe-west1-b/instances?pageToken=forged", "page token"),
        ("/zones/europe-west1-b/instances?filter=(a", "filter"),
        ("/zones/europe-west1-b/instances?fields=items/colour", "field selection"),
        ("/zones/Europe/instances", "regex"),
        ("/zones/europe-west1-z/instances", "Unknown zone"),
        ("/zones/europe-west1-b/instances/VM_1", "regex"),
    ] {
        let (status, _, message) = reason(&lab.ask("GET", target, &Value::Null));
        assert_eq!(status, 400, "{target}");
        assert!(message.contains(words), "{target}: {message}");
    }
    assert_eq!(lab.ask("GET", "/zones/europe-west1-b/colours", &Value::Null).status, 404);
}

#[test]
fn an_operation_takes_time_and_shows_its_instance_when_it_begins() {
    let mut lab = Lab::new();
    let answer = lab.insert(&id(1), &instance("vm-1")).value();
    assert_eq!(
        (answer["status"].as_str(), answer["operationType"].as_str()),
        (Some("PENDING"), Some("insert"))
    );
    let target = format!("/zones/{ZONE}/instances/vm-1");
    assert_eq!(lab.ask("GET", &target, &Value::Null).status, 404, "not yet shown");
    lab.now_ms = 60;
    assert_eq!(lab.get(&target)["status"], "PROVISIONING");
    lab.now_ms = 120;
    assert_eq!(lab.get(&target)["status"], "STAGING");
    assert_eq!(reason(&lab.ask("DELETE", &target, &Value::Null)).1, "resourceNotReady");
    lab.wait();
    assert_eq!(lab.get(&target)["status"], "RUNNING");
    let operation = format!("/zones/{ZONE}/operations/{}", answer["name"].as_str().unwrap());
    assert_eq!(lab.get(&operation)["status"], "DONE");
    assert_eq!(reason(&lab.insert(&id(2), &instance("vm-1"))).1, "alreadyExists");
    let deleted = lab.ask("DELETE", &target, &Value::Null).value();
    assert_eq!(lab.get(&target)["status"], "STOPPING");
    assert_eq!(lab.ask("DELETE", &target, &Value::Null).value()["name"], deleted["name"], "one deletion");
    lab.wait();
    assert_eq!(lab.ask("GET", &target, &Value::Null).status, 404);
    assert!(lab.cloud.is_empty());
}

#[test]
fn a_request_id_means_one_operation() {
    let mut lab = Lab::new();
    let first = lab.insert(&id(1), &instance("vm-1")).value();
    assert_eq!(lab.insert(&id(1), &instance("vm-1")).value()["name"], first["name"]);
    let (status, _, message) = reason(&lab.insert(&id(1), &instance("vm-2")));
    assert!(
        status == 400 && message.contains("requestId") && message.contains("another request"),
        "{message}"
    );
    for bad in ["00000000-0000-0000-0000-000000000000", "7", ""] {
        assert!(reason(&lab.insert(bad, &instance("vm-3"))).2.contains("requestId"), "{bad}");
    }
    lab.wait();
    assert_eq!(lab.insert(&id(1), &instance("vm-1")).value()["status"], "DONE");
    // A failed operation keeps its id.
    let full = Effect::FailOperation { code: "ZONE_RESOURCE_POOL_EXHAUSTED".into(), message: "full".into() };
    lab.cloud.faults.add(Rule::next("instances.insert", full));
    lab.insert(&id(2), &instance("vm-2"));
    lab.wait();
    let again = lab.insert(&id(2), &instance("vm-2")).value();
    assert_eq!(again["error"]["errors"][0]["code"], "ZONE_RESOURCE_POOL_EXHAUSTED");
    assert_eq!((again["httpErrorStatusCode"].as_u64(), lab.cloud.vms().len()), (Some(503), 1));
    // Google forgets.
    lab.now_ms += 4_000_000;
    let now_s = i64::try_from(lab.now_ms / 1000).unwrap();
    lab.token = lab.cloud.identity.issue("test", "https://www.googleapis.com/auth/compute", now_s);
    assert_eq!(reason(&lab.insert(&id(1), &instance("vm-1"))).1, "alreadyExists");
}

#[test]
fn disks_go_with_their_instance_or_stay() {
    let mut lab = Lab::new();
    let mut body = instance("vm-1");
    body["disks"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "autoDelete": false, "boot": false, "initializeParams": { "diskSizeGb": "5" } }));
    lab.insert(&id(1), &body);
    lab.wait();
    assert_eq!(lab.cloud.disk_names().len(), 2);
    let disk = format!("/zones/{ZONE}/disks/vm-1-1");
    assert_eq!(reason(&lab.ask("DELETE", &disk, &Value::Null)).1, "resourceInUseByAnotherResource");
    lab.ask("DELETE", &format!("/zones/{ZONE}/instances/vm-1"), &Value::Null);
    lab.wait();
    assert_eq!(lab.cloud.disk_names(), [format!("{ZONE}/vm-1-1")]);
    lab.ask("DELETE", &disk, &Value::Null);
    lab.wait();
    assert!(lab.cloud.is_empty());
}

#[test]
fn listings_have_pages_filters_and_masks() {
    let mut lab = Lab::new();
    for number in 0..1_050 {
        let zone = ["europe-west1-b", "europe-west1-c"][number % 2];
        let team = if number % 3 == 0 { "a" } else { "b" };
        lab.cloud.plant_in(zone, &format!("vm-{number}"), &json!({ "team": team }), &[]);
    }
    let (mut names, mut pages, mut token) = (std::collections::BTreeSet::new(), 0, String::new());
    loop {
        let mask = "nextPageToken,items/*/instances(name,labels)";
        let page =
            lab.get(&format!("/aggregated/instances?filter=labels.team=b&fields={mask}&pageToken={token}"));
        pages += 1;
        for scope in page["items"].as_object().unwrap().values() {
            for vm in scope["instances"].as_array().into_iter().flatten() {
                let mut fields: Vec<&String> = vm.as_object().unwrap().keys().collect();
                fields.sort();
                assert_eq!(fields, ["labels", "name"]);
                assert_eq!(vm["labels"]["team"], "b");
                assert!(names.insert(vm["name"].as_str().unwrap().to_owned()), "twice");
            }
        }
        match page["nextPageToken"].as_str() {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    assert_eq!((names.len(), pages), (700, 2));
    let page = lab.get("/aggregated/instances?maxResults=1");
    assert_eq!(page["items"]["zones/europe-west1-f"]["warning"]["code"], "NO_RESULTS_ON_PAGE");
    assert_eq!(
        lab.get(&format!("/zones/{ZONE}/instances?maxResults=10"))["items"].as_array().unwrap().len(),
        10
    );
}

#[test]
fn quotas_capacity_and_tokens_are_those_of_google() {
    let mut lab = Lab::new();
    lab.cloud.config.most_instances = 0;
    let operation = |lab: &mut Lab, number: u32| {
        let answer = lab.insert(&id(number), &instance("vm-1")).value();
        lab.wait();
        lab.get(&format!("/zones/{ZONE}/operations/{}", answer["name"].as_str().unwrap()))["error"]["errors"]
            [0]["code"]
            .clone()
    };
    assert_eq!(operation(&mut lab, 1), "QUOTA_EXCEEDED");
    lab.cloud.config.most_instances = 9;
    lab.cloud.full_zones.insert(ZONE.to_owned());
    assert_eq!(operation(&mut lab, 2), "ZONE_RESOURCE_POOL_EXHAUSTED");
    assert!(lab.cloud.is_empty());
    let request = Request::new("GET", &format!("{BASE}/zones/{ZONE}"));
    assert_eq!(lab.cloud.handle(&request, lab.now_ms).status, 401);
    let narrow = lab.cloud.identity.issue("x", "https://www.googleapis.com/auth/devstorage.read_only", 9);
    assert_eq!(
        reason(&lab.cloud.handle(&request.with_token(&narrow), lab.now_ms)).1,
        "insufficientPermissions"
    );
    let other =
        Request::new("GET", &format!("/compute/v1/projects/other/zones/{ZONE}")).with_token(&lab.token);
    assert_eq!(reason(&lab.cloud.handle(&other, lab.now_ms)).1, "forbidden");
    lab.now_ms += 4_000_000;
    let request = Request::new("GET", &format!("{BASE}/zones/{ZONE}")).with_token(&lab.token);
    let (status, reason, _) = reason(&lab.cloud.handle(&request, lab.now_ms));
    assert_eq!((status, reason.as_str()), (401, "authError"), "tokens end");
}
