//! The checks of Cluster API's own end-to-end tests that need no kubelets: `ValidateOwnerReferencesResilience` and
//! `-OnUpdate`, `ValidateFinalizersResilience`, `ValidateResourceVersionStable`, `ValidateCRDMigration`. As there, a
//! Cluster is paused while somebody takes apart what holds its objects together.

use std::collections::BTreeMap;
use std::fmt::Debug;

use anyhow::{Context as _, Result, ensure};
use e2e::cluster_api::{Graph, Management, Workload, rests};
use e2e::{Cloud, Lab, eventually};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt as _};
use machinist_api::infrastructure::names::finalizers;
use serde_json::{Value, json};

use super::scene::{REST, Sim, ends, ids, install_driver, lab, managed, options, workload};
use crate::scene::{hosted, turn};

/// A version of Cluster API's group that its owner references had once.
const OLD_VERSION: &str = "v1beta1";

/// Owner references are core's to set, and finalizers the host's. Meanwhile the VMs stay as they are, and in the end
/// no program writes against another.
#[tokio::test]
#[ignore = "nightly: five minutes, two of them at rest; lives of the runtime strip finalizers on each change"]
async fn owners_and_finalizers_that_somebody_takes_off_come_back_and_then_nothing_is_written() {
    managed::<Sim>(options(), async |lab, _, _| {
        let workload = workload(lab).await?;
        workload.deploy(&lab.plane, 3).await?;
        workload.has(3, "small").await?;
        let whole = complete(&workload).await?;
        let vms = ids(lab).await?;

        apart(&workload, async |ours| ours.strip_owners(&workload).await).await?;
        come_back("owners", &workload, &whole.clone().ours(), Graph::owners).await?;
        apart(&workload, async |ours| ours.set_owner_version(&workload, OLD_VERSION).await).await?;
        come_back("versions of owners", &workload, &whole.clone().ours(), Graph::owners).await?;
        apart(&workload, async |held| held.strip_finalizers(&workload).await).await?;
        come_back("finalizers", &workload, &whole.clone().only(is_held), Graph::finalizers).await?;

        workload.has(3, "small").await?;
        ensure!(ids(lab).await? == vms, "the same VMs: {vms:?}, {:?}", ids(lab).await?);
        rests(&workload, REST).await?;
        ends(lab, &workload).await
    })
    .await;
}

/// The provider's own objects, and the Secret with its credentials.
fn is_held(key: &str) -> bool {
    key.starts_with("Machinist") || key == "Secret account"
}

/// All objects, once owners and finalizers are as they have to be.
async fn complete(workload: &Workload) -> Result<Graph> {
    eventually("all objects have their owners and finalizers", async || {
        let whole = Graph::read(workload).await?;
        let (owners, held) = (whole.clone().ours().owners(), whole.finalizers());
        let is_owned = owners.values().all(|owners| !owners.is_empty());
        let has = |key: &str, name: &str| held.get(key).is_some_and(|names| names.contains(name));
        let machines = held.keys().filter(|key| key.starts_with("MachinistMachine ")).collect::<Vec<_>>();
        let is_held = machines.len() == 3
            && machines.iter().all(|machine| has(machine, finalizers::MACHINE))
            && has("MachinistCluster shop", finalizers::CLUSTER)
            && has("Secret account", finalizers::IDENTITY);
        Ok((is_owned && is_held).then_some(whole))
    })
    .await
}

/// Takes the objects apart while the Cluster is paused. The host and core see that they are, and do nothing.
async fn apart(workload: &Workload, take: impl AsyncFnOnce(Graph) -> Result<()>) -> Result<()> {
    workload.pause(true).await?;
    for machine in workload.infra_machines().list(&ListParams::default()).await? {
        workload.infra_condition(&machine.name_any(), "Paused", "True").await?;
    }
    let before = Graph::read(workload).await?.only(is_held);
    take(before.clone()).await?;
    let now = Graph::read(workload).await?.only(is_held);
    let is_apart = before.owners() != now.owners() || before.finalizers() != now.finalizers();
    ensure!(is_apart, "they are apart: {now:?}");
    workload.pause(false).await
}

/// Waits until this part of the objects is as it was.
async fn come_back<T: PartialEq + Debug>(
    what: &str,
    workload: &Workload,
    before: &Graph,
    part: impl Fn(&Graph) -> BTreeMap<String, T>,
) -> Result<()> {
    let wanted = part(before);
    let mut missing = Vec::new();
    let sentence = format!("the {what} are back");
    let back = eventually(&sentence, async || {
        let now = part(&Graph::read(workload).await?);
        missing = wanted
            .iter()
            .filter(|(key, of)| now.get(*key) != Some(of))
            .map(|(key, of)| format!("{key}: {of:?}, and it has {:?}", now.get(key)))
            .collect();
        Ok(missing.is_empty().then_some(()))
    });
    let outcome = back.await;
    outcome.map_err(|error| error.context(missing.join("\n")))
}

/// The annotation by which core notes which generation of a definition it has migrated.
const MIGRATED: &str = "crd-migration.cluster.x-k8s.io/observed-generation";

/// Core migrates its own definitions: it rewrites all their objects, and notes that on each definition. Ours have one
/// version, so that no object can be stored in another and no managed field can name another: nothing has to be
/// migrated, and the host has no migrator. Two things could go wrong: core takes ours for its own, or its writes wake
/// the host to writes of its own.
#[tokio::test]
#[ignore = "nightly: a minute and a half; definitions with one version are checked with the API on each change"]
async fn core_migrates_its_own_definitions_and_leaves_the_providers_alone() {
    let _turn = turn().await;
    let lab: Lab<Sim> = lab(options()).await;
    let management =
        Management::start_migrating(&lab.plane).await.unwrap_or_else(|error| panic!("{error:#}"));
    hosted(&lab.host_options().with(&["--cluster-api=*"]), async |_| {
        install_driver(&lab).await?;
        migrated(&lab).await.map_err(|error| error.context(management.logs()))
    })
    .await;
}

async fn migrated<C: Cloud>(lab: &Lab<C>) -> Result<()> {
    let workload = workload(lab).await?;
    workload.deploy(&lab.plane, 2).await?;
    workload.has(2, "small").await?;
    rests(&workload, std::time::Duration::ZERO).await?;
    let (definitions, objects) = (definitions(&lab.client), Graph::read(&workload).await?);
    let ours = async || {
        let all = definitions.list(&ListParams::default()).await?.items.into_iter();
        let ours = all.filter(|one| one.name_any().ends_with(".infrastructure.machinist.dev"));
        anyhow::Ok(ours.map(|one| (one.name_any(), one)).collect::<BTreeMap<String, DynamicObject>>())
    };
    let before = ours().await?;
    ensure!(!before.is_empty(), "there are definitions of the provider");

    // As after an upgrade from a release that stored another version.
    let core = "machines.cluster.x-k8s.io";
    let versions = json!({ "status": { "storedVersions": ["v1beta1", "v1beta2"] } });
    definitions.patch_status(core, &PatchParams::default(), &Patch::Merge(&versions)).await?;
    let unseen = json!({ "metadata": { "annotations": { MIGRATED: null } } });
    definitions.patch(core, &PatchParams::default(), &Patch::Merge(&unseen)).await?;
    eventually("core has migrated its Machines", async || {
        let machines = definitions.get(core).await?;
        let is_noted = machines.annotations().contains_key(MIGRATED);
        Ok((is_noted && stored(&machines) == ["v1beta2"]).then_some(()))
    })
    .await?;
    rests(&workload, std::time::Duration::ZERO).await?;

    let after = ours().await?;
    for (name, definition) in &after {
        let was = before.get(name).with_context(|| format!("{name} was there"))?;
        ensure!(!definition.annotations().contains_key(MIGRATED), "{name} is not core's");
        ensure!(definition.labels() == was.labels(), "{name}: {:?}", definition.labels());
        ensure!(
            stored(definition) == ["v1alpha1"],
            "{name} is stored in one version: {:?}",
            stored(definition)
        );
    }
    let written = Graph::read(&workload).await?.ours().versions();
    ensure!(written == objects.ours().versions(), "nothing of ours was written: {written:?}");
    workload.scale(3).await?;
    workload.has(3, "small").await?;
    ends(lab, &workload).await
}

fn definitions(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

/// The versions in which objects may be stored.
fn stored(definition: &DynamicObject) -> Vec<&str> {
    let versions = definition.data["status"]["storedVersions"].as_array();
    versions.into_iter().flatten().filter_map(Value::as_str).collect()
}
