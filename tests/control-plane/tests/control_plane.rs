//! The control plane as its users see it.

mod support;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use control_plane::{ControlPlane, Options, client_from, process_usage};
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, Secret};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::core::ObjectMeta;
use kube::{Client, ResourceExt};
use serde_json::json;
use support::{children_of, is_running, manifest, until};

#[tokio::test]
async fn it_serves_its_accounts_survives_a_restart_and_leaves_nothing_behind() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let client = plane.client().unwrap();

    let version = client.apiserver_version().await.unwrap();
    assert_eq!(version.git_version, control_plane::build::KUBERNETES_VERSION);
    assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "36"));

    a_bootstrap_token_may_create_a_node_and_not_list_secrets(&plane, &client).await;
    a_service_account_may_do_what_its_role_says(&plane).await;
    a_certificate_carries_user_and_groups(&plane).await;
    the_node_simulator_may_delete_pods_and_not_read_secrets(&plane).await;
    a_new_kind_can_be_used_in_the_manifest_that_defines_it(&plane).await;
    a_deleted_namespace_goes_with_its_content(&client).await;
    the_api_server_comes_back_with_its_data(&plane, &client).await;

    let pids = plane.pids().running();
    assert_eq!(pids.len(), 3);
    for pid in &pids {
        let usage = process_usage(*pid).unwrap();
        assert!(usage.cpu > Duration::ZERO && usage.peak_rss_bytes > 10 << 20, "{usage:?}");
    }
    let folder = plane.folder().to_owned();
    drop(plane);
    assert!(!pids.iter().any(|pid| is_running(*pid)), "a process of the control plane is left");
    assert!(!folder.exists(), "{} is left", folder.display());
}

async fn a_bootstrap_token_may_create_a_node_and_not_list_secrets(plane: &ControlPlane, client: &Client) {
    plane.apply(&manifest("bootstrap-token.yaml")).await.unwrap();
    let kubeconfig = plane.kubeconfig_for_token("joining", "abc123.0123456789abcdef").unwrap();
    let joining = client_from(&kubeconfig).await.unwrap();
    let nodes: Api<Node> = Api::all(joining.clone());
    let node =
        serde_json::from_value(json!({ "metadata": { "name": "n1" }, "spec": { "providerID": "sim:///1" } }));
    let node: Node = node.unwrap();
    // The authenticator reads tokens from a cache that follows the Secret.
    until("the token is known", async || match nodes.create(&PostParams::default(), &node).await {
        Ok(_) => true,
        Err(kube::Error::Api(status)) if status.code == 401 => false,
        Err(error) => panic!("{error}"),
    })
    .await;
    let created = Api::<Node>::all(client.clone()).get("n1").await.unwrap();
    assert_eq!(created.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()), Some("sim:///1"));
    assert!(created.spec.and_then(|spec| spec.taints).is_none(), "nobody would take the taint away");
    assert_eq!(status_code(list_secrets(joining).await), 403);
}

async fn a_service_account_may_do_what_its_role_says(plane: &ControlPlane) {
    plane.apply(&manifest("service-account.yaml")).await.unwrap();
    let user = "system:serviceaccount:shop:clerk";
    plane.wait_until_allowed(user, &[], "create", "configmaps").await.unwrap();
    let kubeconfig = plane.kubeconfig_for_service_account("shop", "clerk").await.unwrap();
    let clerk = client_from(&kubeconfig).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(clerk.clone(), "shop");
    let map = serde_json::from_value(json!({ "metadata": { "name": "price" } })).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    assert_eq!(status_code(list_secrets(clerk).await), 403);
    let error = plane.kubeconfig_for_service_account("shop", "nobody").await.unwrap_err().to_string();
    assert!(error.contains("shop/nobody"), "{error}");
}

async fn a_certificate_carries_user_and_groups(plane: &ControlPlane) {
    let kubeconfig = plane.kubeconfig_for("system:anna", &["readers", "system:masters"]).unwrap();
    list_secrets(client_from(&kubeconfig).await.unwrap()).await.unwrap();
    let nobody = plane.kubeconfig_for("berta", &["readers"]).unwrap();
    let error = list_secrets(client_from(&nobody).await.unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("\"berta\""), "{error}");
}

async fn the_node_simulator_may_delete_pods_and_not_read_secrets(plane: &ControlPlane) {
    plane.apply("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeName: n1, containers: [{name: c, image: c}]}}")
        .await
        .unwrap();
    let nodesim = client_from(plane.nodesim_kubeconfig()).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(nodesim.clone(), "default");
    pods.delete("p", &DeleteParams::default().grace_period(0)).await.unwrap();
    assert_eq!(status_code(list_secrets(nodesim).await), 403);
}

async fn a_new_kind_can_be_used_in_the_manifest_that_defines_it(plane: &ControlPlane) {
    let applied = plane.apply(&manifest("new-kind.yaml")).await.unwrap();
    let names: Vec<String> = applied.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["lamps.shop.example.com", "desk"]);
    let again = plane.apply(&manifest("new-kind.yaml")).await.unwrap();
    assert_eq!(again[1].resource_version(), applied[1].resource_version());
}

async fn a_deleted_namespace_goes_with_its_content(client: &Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.delete("shop", &DeleteParams::default()).await.unwrap();
    until("the namespace is gone", async || namespaces.get_opt("shop").await.unwrap().is_none()).await;
}

async fn the_api_server_comes_back_with_its_data(plane: &ControlPlane, client: &Client) {
    let nodes: Api<Node> = Api::all(client.clone());
    plane.stop_api_server();
    assert_eq!(plane.pids().api_server, None);
    assert!(nodes.get("n1").await.is_err());
    plane.start_api_server().await.unwrap();
    nodes.get("n1").await.unwrap();
    let error = plane.start_api_server().await.unwrap_err().to_string();
    assert!(error.contains("is running"), "{error}");
}

#[tokio::test]
async fn where_nodes_are_authorised_a_token_gets_a_certificate_and_that_one_node() {
    let plane = ControlPlane::start(Options::with_node_authorization()).await.unwrap();
    let token = plane.create_bootstrap_token().await.unwrap();
    let joining = client_from(&plane.kubeconfig_for_token("joining", &token).unwrap()).await.unwrap();
    let nodes: Api<Node> = Api::all(joining.clone());
    let node: Node = serde_json::from_value(json!({ "metadata": { "name": "n1" } })).unwrap();
    let create = async |nodes: &Api<Node>, node: &Node| {
        let created = nodes.create(&PostParams::default(), node).await;
        created.map(|_| 1)
    };
    until("the token is known", async || joining.apiserver_version().await.is_ok()).await;
    assert_eq!(status_code(create(&nodes, &node).await), 403, "a token registers nothing itself");

    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = requested(&joining, "n1", &key).await;
    let kubeconfig = plane.kubeconfig_for_certificate("n1", &certificate, &key.serialize_pem()).unwrap();
    let own: Api<Node> = Api::all(client_from(&kubeconfig).await.unwrap());
    assert_eq!(create(&own, &node).await.unwrap(), 1);
    let foreign = serde_json::from_value(json!({ "metadata": { "name": "n2" } })).unwrap();
    assert_eq!(status_code(create(&own, &foreign).await), 403);

    let error =
        ControlPlane::start(Options { controller_manager: false, ..Options::with_node_authorization() });
    let error = error.await.err().unwrap().to_string();
    assert!(error.contains("needs the controller manager"), "{error}");
}

/// The certificate of a Node's kubelet, as the controllers sign it without anybody's help.
async fn requested(client: &Client, node: &str, key: &rcgen::KeyPair) -> String {
    let mut params = rcgen::CertificateParams::default();
    let mut name = rcgen::DistinguishedName::new();
    name.push(rcgen::DnType::OrganizationName, "system:nodes");
    name.push(rcgen::DnType::CommonName, format!("system:node:{node}"));
    params.distinguished_name = name;
    let request = CertificateSigningRequest {
        metadata: ObjectMeta { name: Some(node.to_owned()), ..ObjectMeta::default() },
        spec: CertificateSigningRequestSpec {
            request: ByteString(params.serialize_request(key).unwrap().pem().unwrap().into_bytes()),
            signer_name: "kubernetes.io/kube-apiserver-client-kubelet".to_owned(),
            usages: Some(vec!["digital signature".to_owned(), "client auth".to_owned()]),
            ..CertificateSigningRequestSpec::default()
        },
        ..CertificateSigningRequest::default()
    };
    let requests: Api<CertificateSigningRequest> = Api::all(client.clone());
    requests.create(&PostParams::default(), &request).await.unwrap();
    let issued = async || requests.get(node).await.unwrap().status?.certificate;
    until("the certificate is issued", async || issued().await.is_some()).await;
    String::from_utf8(issued().await.unwrap().0).unwrap()
}

#[tokio::test]
async fn every_option_is_one_that_the_programs_take() {
    let options = Options {
        node_lifecycle: true,
        token_cleaner: true,
        controllers: vec!["replicaset-controller".into()],
        feature_gates: [("MutatingAdmissionPolicy".to_owned(), true)].into(),
        runtime_config: vec!["api/beta=true".into()],
        controller_manager_args: vec!["--node-startup-grace-period=1s".into()],
        ..Options::default()
    };
    let plane = ControlPlane::start(options).await.unwrap();
    let nodes: Api<Node> = Api::all(plane.client().unwrap());
    let node = serde_json::from_value(json!({ "metadata": { "name": "n1" } })).unwrap();
    nodes.create(&PostParams::default(), &node).await.unwrap();
    // No kubelet reports for it, and the controller notices.
    until("the node is tainted as unreachable", async || {
        let taints = nodes.get("n1").await.unwrap().spec.and_then(|spec| spec.taints).unwrap_or_default();
        taints.iter().any(|taint| taint.key == "node.kubernetes.io/unreachable")
    })
    .await;
}

#[tokio::test]
async fn workloads_become_pods_on_nodes_and_their_volumes_are_asked_to_be_attached() {
    let plane = ControlPlane::start(Options::with_workloads()).await.unwrap();
    assert_eq!(plane.pids().running().len(), 4);
    plane.apply(&manifest("workloads.yaml")).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(plane.client().unwrap(), "default");
    until("all pods have the Node", async || {
        let pods = pods.list(&ListParams::default()).await.unwrap().items;
        let bound = pods.iter().filter(|pod| pod.spec.as_ref().unwrap().node_name.as_deref() == Some("n1"));
        bound.count() == 4
    })
    .await;
    let attachments: Api<VolumeAttachment> = Api::all(plane.client().unwrap());
    until("an attachment of the StatefulSet's volume is asked for", async || {
        let all = attachments.list(&ListParams::default()).await.unwrap().items;
        let wanted = |one: &VolumeAttachment| {
            one.spec.node_name == "n1" && one.spec.source.persistent_volume_name.as_deref() == Some("disk")
        };
        all.len() == 1 && all.iter().all(wanted)
    })
    .await;
}

#[tokio::test]
async fn a_start_that_fails_shows_the_log_of_the_process_that_died() {
    let options = Options {
        api_server_args: vec!["--no-such-argument".into()],
        ..Options::without_controller_manager()
    };
    let error = ControlPlane::start(options).await.err().unwrap().to_string();
    assert!(error.contains("kube-apiserver exited") && error.contains("no-such-argument"), "{error}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_named_after_some_attempts() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let options = Options {
        api_server_args: vec![format!("--secure-port={port}")],
        ..Options::without_controller_manager()
    };
    let error = ControlPlane::start(options).await.err().unwrap().to_string();
    assert!(error.contains("address already in use") && error.contains(&port.to_string()), "{error}");
}

#[tokio::test]
async fn its_processes_die_and_its_folder_goes_with_a_parent_that_is_killed() {
    let mut parent = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .args(["run", "--no-controller-manager"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let kubeconfig = std::path::PathBuf::from(line.trim());
    let folder = kubeconfig.parent().unwrap().to_owned();
    assert!(kubeconfig.is_file(), "{line}");
    let children = children_of(parent.id());
    assert_eq!(children.len(), 2, "etcd and kube-apiserver");

    parent.kill().unwrap();
    parent.wait().unwrap();
    until("all processes have ended", async || !children.iter().any(|pid| is_running(*pid))).await;
    assert!(!folder.exists(), "{} is left", folder.display());
}

async fn list_secrets(client: Client) -> kube::Result<usize> {
    Ok(Api::<Secret>::all(client).list(&ListParams::default()).await?.items.len())
}

fn status_code(result: kube::Result<usize>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("expected a refusal, got {other:?}"),
    }
}
