//! `clusterctl` itself reads what users install from.

use std::path::Path;

use cluster_api::repository::VERSION;
use cluster_api::{Clusterctl, programs};
use serde::Deserialize;
use serde_json::Value;

fn clusterctl() -> Clusterctl {
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../deploy");
    Clusterctl::new(&programs().expect("the programs are built"), &deploy).expect("the repository is there")
}

fn objects(text: &str) -> Vec<Value> {
    let documents = serde_yaml_ng::Deserializer::from_str(text);
    documents.map(|document| Value::deserialize(document).expect("clusterctl prints YAML")).collect()
}

fn infrastructure() -> String {
    format!("machinist:{VERSION}")
}

#[tokio::test]
async fn clusterctl_installs_all_of_the_provider_with_its_label() {
    let arguments = ["generate", "provider", "--infrastructure", &infrastructure()];
    let printed = clusterctl().generate(&arguments, &[("MACHINIST_IMAGE", "example.org/machinist:1")]).await;
    let objects = objects(&printed.expect("clusterctl takes it"));
    for object in &objects {
        let label = &object["metadata"]["labels"]["cluster.x-k8s.io/provider"];
        assert_eq!(label, "infrastructure-machinist", "{object}");
    }
    let host = objects.iter().find(|object| object["kind"] == "Deployment").expect("the host is there");
    let container = &host["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["image"], "example.org/machinist:1");
    assert!(container["args"].as_array().unwrap().iter().any(|one| one == "--cluster-api=*"), "{container}");
}

#[tokio::test]
async fn templates_of_all_flavours_become_whole_clusters() {
    let always = [("CONTROL_PLANE_ENDPOINT_HOST", "203.0.113.1"), ("MACHINIST_PROVIDER", "sim")];
    for (flavor, variables) in [
        (None, [("MACHINIST_PROVIDER_SPEC", r#"{"zone":"sim-1a"}"#)].as_slice()),
        (Some("sim"), &[]),
        (
            Some("aws"),
            &[
                ("AWS_REGION", "eu-west-1"),
                ("AWS_AMI", "ami-0123456789abcdef0"),
                ("AWS_INSTANCE_PROFILE", "worker"),
                ("AWS_SUBNET_ID", "subnet-0123456789abcdef0"),
                ("AWS_SECURITY_GROUP_ID", "sg-0123456789abcdef0"),
            ],
        ),
    ] {
        let infrastructure = infrastructure();
        let mut arguments = vec!["generate", "cluster", "shop", "--infrastructure", &infrastructure];
        arguments.extend(["--kubernetes-version", "v1.36.4", "--target-namespace", "team"]);
        arguments.extend(["--control-plane-machine-count", "3", "--worker-machine-count", "5"]);
        arguments.extend(flavor.into_iter().flat_map(|flavor| ["--flavor", flavor]));
        let printed = clusterctl().generate(&arguments, &[&always[..], variables].concat()).await;
        let objects = objects(&printed.unwrap_or_else(|error| panic!("{flavor:?}: {error:#}")));
        let of_kind = |kind: &str| objects.iter().filter(|one| one["kind"] == kind).collect::<Vec<_>>();
        assert_eq!(of_kind("Cluster").len(), 1, "{flavor:?}");
        assert_eq!(of_kind("MachineDeployment")[0]["spec"]["replicas"], 5, "{flavor:?}");
        for template in of_kind("MachinistMachineTemplate") {
            let spec = &template["spec"]["template"]["spec"];
            assert!(spec["provider"].is_string() && spec["providerSpec"].is_object(), "{flavor:?}: {spec}");
        }
        assert!(objects.iter().all(|object| object["metadata"]["namespace"] == "team"), "{flavor:?}");
    }
}

#[tokio::test]
async fn a_variable_that_is_missing_is_named() {
    let infrastructure = infrastructure();
    let of_aws = ["generate", "cluster", "shop", "--infrastructure", &infrastructure, "--flavor", "aws"];
    let arguments = [&of_aws[..], &["--target-namespace", "team"]].concat();
    let refused = clusterctl().generate(&arguments, &[]).await.expect_err("values are missing").to_string();
    assert!(refused.contains("AWS_SUBNET_ID"), "{refused}");
}
