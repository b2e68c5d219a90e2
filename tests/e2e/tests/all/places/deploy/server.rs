//! The answers of an API server to the manifests, and of the host to its arguments and probes.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use control_plane::{ControlPlane, Options};
use e2e::{Host, HostOptions, within};
use http::Request;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::GroupVersionKind;
use kube::discovery::Scope;
use kube::{Api, Client, Config, Resource};
use serde_json::{Value, json};

use super::{CLOUDS, container, deploy, deployment, documents, manifests, texts};
use crate::scene::turn;

const NAMESPACE: &str = e2e::manifests::NAMESPACE;

/// Applies as `kubectl apply --server-side` does, and returns the server's warnings.
async fn apply(client: &Client, document: &Value) -> Result<Vec<String>> {
    let object: DynamicObject =
        serde_json::from_value(document.clone()).context("a document is no object")?;
    let types = object.types.clone().context("it has apiVersion and kind")?;
    let name = object.metadata.name.clone().context("it has a name")?;
    let (resource, capabilities) =
        kube::discovery::pinned_kind(client, &GroupVersionKind::try_from(&types)?).await?;
    let namespace = match capabilities.scope {
        Scope::Cluster => None,
        Scope::Namespaced => Some(object.metadata.namespace.as_deref().context("it names its namespace")?),
    };
    let url = DynamicObject::url_path(&resource, namespace);
    let params = PatchParams {
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("kubectl").force()
    };
    let request: Request<Vec<u8>> =
        kube::core::Request::new(url).patch(&name, &params, &Patch::Apply(document))?;
    let answer = client.send(request.map(Body::from)).await?;
    let warnings = answer.headers().get_all("warning").iter();
    let warnings = warnings.map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned()).collect();
    let status = answer.status();
    let body = answer.into_body().collect_bytes().await?;
    ensure!(status.is_success(), "{} {name}: {status}: {}", types.kind, String::from_utf8_lossy(&body));
    Ok(warnings)
}

/// The manifests in these folders, all of them without a warning.
async fn applies(client: &Client, folders: &[impl AsRef<str>]) -> Result<()> {
    for folder in folders {
        for file in manifests(folder.as_ref())? {
            for document in documents(&file)? {
                let warnings =
                    apply(client, &document).await.with_context(|| format!("in {}", file.display()))?;
                ensure!(warnings.is_empty(), "{} warns: {warnings:?}", file.display());
            }
        }
    }
    Ok(())
}

/// A pod of the Deployment, which is not kept.
async fn start_pod(client: &Client, deployment: &Value) -> kube::Result<Pod> {
    let template = &deployment["spec"]["template"];
    let metadata = json!({ "name": "trial", "labels": template["metadata"]["labels"] });
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] });
    let pod: Pod = serde_json::from_value(pod).expect("a template is a pod without a name");
    let trial = PostParams { dry_run: true, ..PostParams::default() };
    Api::namespaced(client.clone(), NAMESPACE).create(&trial, &pod).await
}

async fn everything_applies() -> Result<()> {
    let plane = ControlPlane::start(Options::without_controller_manager()).await?;
    let client = plane.client()?;
    // Waits until the kinds are served.
    plane.apply_path(deploy("crds")).await?;
    applies(&client, &["crds", "rbac", "policies", "flowcontrol", "deployment", "samples/policy"]).await?;
    applies(&client, &CLOUDS.map(|cloud| format!("samples/{cloud}"))).await?;
    let deployment = deployment()?;
    start_pod(&client, &deployment).await.context("the Deployment's pods are let in")?;

    // The server does report manifests that break its rules.
    let mut root = deployment.clone();
    root["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] = json!(false);
    let warnings = apply(&client, &root).await?;
    ensure!(warnings.iter().any(|text| text.contains("runAsNonRoot")), "{warnings:?}");
    let refused = start_pod(&client, &root).await;
    ensure!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403), "{refused:?}");
    let mut misspelt = deployment;
    misspelt["spec"]["replica"] = json!(1);
    ensure!(apply(&client, &misspelt).await.is_err(), "an unknown field is an error");
    Ok(())
}

#[tokio::test]
async fn every_manifest_applies_without_a_warning_and_the_pods_are_let_in() {
    let _turn = turn().await;
    everything_applies().await.unwrap_or_else(|error| panic!("{error:#}"));
}

/// The flow schema and the priority level by which the server has answered a request.
async fn flow(client: &Client, path: &str) -> Result<[String; 2]> {
    let answer = client.send(Request::get(path).body(Body::empty())?).await?;
    let header = |name: &str| {
        let value = answer.headers().get(name).and_then(|value| value.to_str().ok());
        value.map(str::to_owned).with_context(|| format!("{path} is answered without {name}"))
    };
    Ok([header("x-kubernetes-pf-flowschema-uid")?, header("x-kubernetes-pf-prioritylevel-uid")?])
}

async fn flows() -> Result<()> {
    let plane = ControlPlane::start(Options::without_controller_manager()).await?;
    let client = plane.client()?;
    plane.apply_path(deploy("crds")).await?;
    applies(&client, &["rbac", "flowcontrol"]).await?;
    let kubeconfig = plane.kubeconfig_for_service_account(NAMESPACE, "machinist").await?;
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let host =
        Client::try_from(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)?;
    let schemas: Api<FlowSchema> = Api::all(client.clone());
    let levels: Api<PriorityLevelConfiguration> = Api::all(client.clone());
    let machines = format!("/apis/machine.sapcloud.io/v1alpha1/namespaces/{NAMESPACE}/machines");
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/machine-controller");
    for (path, schema, level) in [
        (machines.as_str(), "machinist", "machinist"),
        ("/api/v1/nodes", "machinist", "machinist"),
        (&leases, "machinist-leader-election", "leader-election"),
    ] {
        let schema = schemas.get(schema).await?.metadata.uid.context("it has a uid")?;
        let level = levels.get(level).await?.metadata.uid.context("it has a uid")?;
        // The server follows its own objects by watches.
        within(Duration::from_secs(20), "the server goes by the schema", async || {
            Ok((flow(&host, path).await? == [schema.clone(), level.clone()]).then_some(()))
        })
        .await
        .with_context(|| path.to_owned())?;
    }
    let ours = schemas.get("machinist").await?.metadata.uid.context("it has a uid")?;
    ensure!(flow(&client, "/api/v1/nodes").await?[0] != ours, "an administrator is somebody else");
    Ok(())
}

#[tokio::test]
async fn the_api_server_knows_the_hosts_requests_and_its_leases_from_all_others() {
    let _turn = turn().await;
    flows().await.unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn kustomizations_name_every_manifest_of_their_folders() {
    for (home, folders) in [("", &["crds", "rbac", "flowcontrol", "policies"][..]), ("deployment", &[""][..])]
    {
        let kustomization = Path::new(home).join("kustomization.yaml");
        let kustomization = super::document(kustomization.to_str().unwrap()).unwrap();
        let files = folders.iter().flat_map(|folder| {
            let files = manifests(Path::new(home).join(folder).to_str().unwrap()).unwrap();
            files.into_iter().map(|file| Path::new(folder).join(file.file_name().unwrap()))
        });
        let mut there: Vec<String> = files.map(|file| file.display().to_string()).collect();
        let mut listed = texts(&kustomization["resources"]);
        listed.sort();
        there.sort();
        assert_eq!(listed, there, "deploy/{home}");
    }
}

#[test]
fn the_deployment_is_the_one_that_the_autoscaler_looks_for_and_runs_as_the_account_that_has_the_rights() {
    let deployment = deployment().unwrap();
    assert_eq!(deployment["metadata"]["name"], "machine-controller-manager");
    assert_eq!(deployment["metadata"]["namespace"], NAMESPACE);
    let account = super::document("rbac/10-serviceaccount.yaml").unwrap();
    assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], account["metadata"]["name"]);
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    for (file, selector) in [
        ("deployment/20-service.yaml", "/spec/selector"),
        ("deployment/30-poddisruptionbudget.yaml", "/spec/selector/matchLabels"),
        ("deployment/40-networkpolicy.yaml", "/spec/podSelector/matchLabels"),
    ] {
        assert_eq!(super::document(file).unwrap().pointer(selector), Some(labels), "{file}");
    }
}

#[test]
fn the_network_policy_opens_the_port_that_is_named_in_the_deployment_and_no_other() {
    let policy = super::document("deployment/40-networkpolicy.yaml").unwrap()["spec"].clone();
    assert_eq!(policy["policyTypes"], json!(["Ingress"]));
    let rules = policy["ingress"].as_array().unwrap();
    let port = container(&deployment().unwrap())["ports"][0]["name"].clone();
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0]["ports"], json!([{ "protocol": "TCP", "port": port }]));
    let from = rules[0]["from"].as_array().unwrap();
    let is_narrow = |peer: &Value| {
        peer["namespaceSelector"]["matchLabels"].is_object() && peer["podSelector"].is_object()
    };
    assert!(!from.is_empty() && from.iter().all(is_narrow), "{from:?}");
}

/// Its arguments but for the folder and the port, which a test chooses itself.
fn arguments(container: &Value) -> Vec<String> {
    let own = |argument: &String| argument.starts_with("--cache-dir=") || argument.starts_with("--port=");
    texts(&container["args"]).into_iter().skip(1).filter(|argument| !own(argument)).collect()
}

async fn status(host: &Host, path: &str) -> Result<u16> {
    let answer = reqwest::get(format!("{}{path}", host.url())).await?;
    Ok(answer.status().as_u16())
}

async fn probes() -> Result<()> {
    let deployment = deployment()?;
    let container = container(&deployment);
    let path = |probe: &str| {
        let path = container[probe]["httpGet"]["path"].as_str();
        path.map(str::to_owned).with_context(|| format!("the container has a {probe}"))
    };
    let (alive, ready) = (path("livenessProbe")?, path("readinessProbe")?);
    let plane = ControlPlane::start(Options::without_controller_manager()).await?;
    plane.apply_path(deploy("rbac")).await?;
    let kubeconfig = plane.kubeconfig_for_service_account(NAMESPACE, "machinist").await?;
    let folder = tempfile::tempdir()?;
    let options = |name: &str| HostOptions {
        kubeconfig: kubeconfig.clone(),
        // As in the pod: inside of a folder that another user made, and which is not there yet.
        cache: folder.path().join(name).join("code"),
        log: folder.path().join(format!("{name}.log")),
        flags: arguments(&container),
    };
    let mut first = Host::start(&options("first"))?;
    within(Duration::from_secs(30), "the host is alive", async || {
        Ok((status(&first, &alive).await? == 200).then_some(()))
    })
    .await
    .with_context(|| first.log_end())?;
    ensure!(status(&first, &ready).await? == 503, "it is not ready without the kinds that it works for");
    plane.apply_path(deploy("crds")).await?;
    first.ready().await?;
    ensure!(status(&first, &ready).await? == 200, "the readiness probe asks for what `ready` asks");

    let second = Host::start_ready(&options("second")).await?;
    let leads = second.metrics().await?.sum("machinist_leader", &[]);
    ensure!(leads == 0.0, "the first leads");
    for path in [&alive, &ready] {
        ensure!(status(&second, path).await? == 200, "who does not lead is as good as who does: {path}");
    }
    plane.stop_api_server();
    ensure!(status(&second, &alive).await? == 200, "an outage of the API server kills nobody");
    Ok(())
}

#[tokio::test]
async fn the_host_takes_the_deployments_arguments_and_answers_its_probes() {
    let _turn = turn().await;
    probes().await.unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn all_arguments_of_the_deployment_are_known_and_their_port_is_the_one_that_is_probed() {
    let deployment = deployment().unwrap();
    let container = container(&deployment);
    let accepts = |arguments: &[String]| {
        let mut command = Command::new(e2e::binary().unwrap());
        command.args(arguments).arg("--help").output().unwrap().status.success()
    };
    let arguments = texts(&container["args"]);
    assert!(accepts(&arguments), "{arguments:?}");
    assert!(!accepts(&[&arguments[..], &["--no-such-flag".to_owned()]].concat()), "help hides nothing");

    let port = container["ports"][0].clone();
    assert!(arguments.contains(&format!("--port={}", port["containerPort"])), "{arguments:?} {port}");
    for probe in ["livenessProbe", "readinessProbe"] {
        assert_eq!(container[probe]["httpGet"]["port"], port["name"]);
    }
    let volume = container["volumeMounts"][0]["mountPath"].as_str().unwrap();
    let cache = arguments.iter().find_map(|argument| argument.strip_prefix("--cache-dir=")).unwrap();
    let inside = Path::new(cache).strip_prefix(volume).expect("the cache is in the volume");
    assert!(inside.components().count() > 0, "the host cannot close the volume's own folder to others");
}
