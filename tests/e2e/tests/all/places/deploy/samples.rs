//! The samples: they grant what the drivers ask for, the drivers take their classes, and they make a Node.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e::plugins::sandbox;
use e2e::{Aws, Azure, Cloud, Gcp, Hcloud, Lab, LabOptions, Lxd, OpenStack};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::PostParams;
use machinist_api::{Machine, MachineClass};
use machinist_plugin_host::PluginHost;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{CLOUDS, deploy, document, text};
use crate::scene::{SIM, is_running, scene};

fn sample<T: DeserializeOwned>(cloud: &str, file: &str) -> Result<T> {
    let document = document(&format!("samples/{cloud}/{file}.yaml"))?;
    serde_json::from_value(document).with_context(|| format!("{file} of {cloud} is of another kind"))
}

fn grants_of(cloud: &str) -> Result<Value> {
    let map: ConfigMap = sample(cloud, "10-plugin")?;
    let grants = map.data.and_then(|data| data.get("grants.yaml").cloned()).context("it has grants")?;
    Ok(serde_yaml_ng::from_str(&grants)?)
}

#[test]
fn samples_grant_what_the_drivers_ask_for_and_no_more() {
    for cloud in CLOUDS {
        // The user's to fill in; the samples have an example.
        let needed = text(&deploy(&format!("../plugins/{cloud}/grants.yaml"))).unwrap();
        let needed = needed.replace("PORT", "8080").replace("HOST", "lxd.example");
        let needed: Value = serde_yaml_ng::from_str(&needed).unwrap();
        let mut granted = grants_of(cloud).unwrap();
        // Which regions there are is the user's to say; the samples' class names one.
        let regions = granted.as_object_mut().unwrap().remove("regions");
        assert_eq!(regions.is_some(), needed.to_string().contains("{region}"), "{cloud}");
        assert_eq!(granted, needed, "{cloud}");
    }
}

/// The sample's plugin with its component, as a push leaves it.
fn pushed(cloud: &str, component: &[u8]) -> Result<ConfigMap> {
    let mut map: ConfigMap = sample(cloud, "10-plugin")?;
    let packed = zstd::encode_all(component, 3).context("failed to compress")?;
    map.binary_data = Some([("plugin.wasm.zst".to_owned(), ByteString(packed))].into());
    Ok(map)
}

/// The host takes the plugin, its driver serves the class's provider, and finds nothing to say about the class.
async fn is_taken<C: Cloud>(folder: &Path) -> Result<()> {
    let component = C::DRIVER.build()?;
    let host = PluginHost::start(sandbox::settings(folder)?)?;
    let map = pushed(C::NAME, &component)?;
    sandbox::load(&host, sandbox::raw(map)).await?;
    let class: MachineClass = sample(C::NAME, "30-machineclass")?;
    let said = host.validate_class(sandbox::class(&class)).await;
    ensure!(said == Ok(Vec::new()), "the driver says {said:?}");
    let mut broken = class;
    broken.provider_spec = Some(serde_json::from_str("{}")?);
    let said = host.validate_class(sandbox::class(&broken)).await;
    ensure!(said.is_err(), "a class without anything is taken: {said:?}");
    Ok(())
}

async fn driver_takes_its_class<C: Cloud>() {
    let folder = tempfile::tempdir().unwrap();
    let taken = is_taken::<C>(&folder.path().join("code")).await;
    taken.unwrap_or_else(|error| panic!("{}: {error:#}", C::NAME));
}

#[tokio::test]
async fn drivers_in_rust_take_the_classes_of_their_samples() {
    driver_takes_its_class::<simcloud::Server>().await;
    driver_takes_its_class::<Aws>().await;
    driver_takes_its_class::<Azure>().await;
    driver_takes_its_class::<Gcp>().await;
}

#[tokio::test]
async fn drivers_in_go_take_the_classes_of_their_samples() {
    driver_takes_its_class::<Hcloud>().await;
    driver_takes_its_class::<OpenStack>().await;
}

#[tokio::test]
async fn the_driver_in_typescript_takes_the_class_of_its_sample() {
    driver_takes_its_class::<Lxd<false>>().await;
}

#[test]
fn samples_of_every_cloud_are_checked() {
    let entries = std::fs::read_dir(deploy("samples")).unwrap();
    let folders: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    let checked: BTreeSet<String> = CLOUDS.into_iter().chain(["policy"]).map(str::to_owned).collect();
    assert_eq!(folders, checked);
}

#[test]
fn samples_lead_from_machine_to_class_to_secret_and_make_no_doubles() {
    let mut names = BTreeMap::new();
    for cloud in CLOUDS {
        let machine: Machine = sample(cloud, "40-machine").unwrap();
        let class: MachineClass = sample(cloud, "30-machineclass").unwrap();
        let secret: Value = document(&format!("samples/{cloud}/20-secret.yaml")).unwrap();
        assert_eq!(machine.spec.class.name, class.metadata.name);
        let reference = class.secret_references().next().unwrap();
        assert_eq!(reference.name.as_deref(), secret["metadata"]["name"].as_str());
        for name in [machine.metadata.name, class.metadata.name.clone()] {
            *names.entry(name).or_insert(0) += 1;
        }
    }
    assert!(names.values().all(|count| *count == 1), "{names:?}");
}

/// As a user goes through them, but that the cloud has a port and a token of its own.
async fn makes_a_node(lab: &Lab) -> Result<()> {
    let port = lab.cloud.url().rsplit(':').next().unwrap_or_default().to_owned();
    let mut map: ConfigMap = sample("sim", "10-plugin")?;
    for text in map.data.iter_mut().flat_map(|data| data.values_mut()) {
        *text = text.replace("8080", &port);
    }
    lab.put_plugin(&map).await?;
    lab.plugin_state("sim", "Rejected").await?;
    lab.event("ConfigMap", "sim", "PluginRejected", "machinist plugin push").await?;
    let with_component = pushed("sim", &SIM)?;
    lab.put_plugin(&ConfigMap { binary_data: with_component.binary_data, ..map }).await?;
    lab.plugin_state("sim", "Ready").await?;

    let mut secret: Secret = sample("sim", "20-secret")?;
    secret.string_data.get_or_insert_default().insert("token".into(), lab.cloud.token().to_owned());
    lab.put_secret(&secret).await?;
    lab.put_class(&sample::<MachineClass>("sim", "30-machineclass")?).await?;
    let machine: Machine = sample("sim", "40-machine")?;
    lab.machines().create(&PostParams::default(), &machine).await?;
    is_running(lab, machine.metadata.name.as_deref().unwrap_or_default()).await?;
    lab.clear().await
}

#[tokio::test]
async fn the_samples_of_the_simulated_cloud_make_a_node() {
    scene(LabOptions::default(), async |lab, _| makes_a_node(lab).await).await;
}
