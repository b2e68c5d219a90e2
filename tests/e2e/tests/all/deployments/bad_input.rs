//! Deployments that contradict themselves or each other: no unwanted Machine is created, and each says how to fix it.
//!
//! The API server has no rules here, so that everything reaches the host that may have been stored before there were
//! rules.

use anyhow::{Context, Result, ensure};
use e2e::fleet::{FleetBounds, FleetWatch};
use e2e::manifests::NAMESPACE;
use e2e::manifests::deployments::{raw_deployment, rolling};
use e2e::{Cloud, Kinds, Lab, LabOptions, eventually};
use kube::Api;
use kube::api::{ListParams, PostParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::runtime::watcher;
use machinist_api::MachineDeployment;
use serde_json::{Value, json};

use crate::scene::installed;

fn without_rules() -> LabOptions {
    LabOptions { kinds: Kinds::OwnWithoutRules, ..LabOptions::default() }
}

/// Creates it as JSON: what our types do not know must reach the server too.
async fn make(lab: &Lab, raw: &Value) -> Result<()> {
    let object: DynamicObject = serde_json::from_value(raw.clone())?;
    let kind = ApiResource::erase::<MachineDeployment>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(lab.client.clone(), NAMESPACE, &kind);
    api.create(&PostParams::default(), &object).await.with_context(|| format!("failed to create {raw}"))?;
    Ok(())
}

/// A condition with this reason and these words, and an Event with the same.
async fn says(lab: &Lab, name: &str, reason: &str, part: &str) -> Result<()> {
    let condition = lab.deployment_reason(name, reason, part).await?;
    ensure!(condition.status == "False", "it is bad news: {condition:?}");
    lab.event("MachineDeployment", name, reason, part).await
}

async fn sets(lab: &Lab) -> Result<usize> {
    Ok(lab.sets().list_metadata(&ListParams::default()).await?.items.len())
}

/// A name, the problem, and the reported message.
type Wrong = (&'static str, Value, &'static str, &'static str);

/// Merged into a deployment that is right.
fn wrong() -> Vec<Wrong> {
    let invalid = "InvalidDeployment";
    let strategy = |strategy: Value| json!({ "spec": { "strategy": strategy } });
    vec![
        (
            "selects-nothing",
            json!({ "spec": { "selector": { "matchLabels": { "name": "nobody" } } } }),
            invalid,
            "spec.selector does not select the labels of spec.template.metadata",
        ),
        (
            "selects-all",
            json!({ "spec": { "selector": { "matchLabels": null } } }),
            "SelectingAll",
            "spec.selector is empty",
        ),
        ("no-selector", json!({ "spec": { "selector": null } }), invalid, "spec.selector is missing"),
        (
            "odd-selector",
            json!({ "spec": { "selector": { "matchExpressions": [{ "key": "name", "operator": "Resembles" }] } } }),
            invalid,
            "spec.selector cannot be understood",
        ),
        (
            "no-class",
            json!({ "spec": { "template": { "spec": { "class": null } } } }),
            invalid,
            "spec.template.spec.class.name is missing",
        ),
        (
            "no-strategy",
            strategy(json!({ "type": null, "rollingUpdate": null })),
            invalid,
            "spec.strategy.type is missing",
        ),
        (
            "odd-strategy",
            strategy(json!({ "type": "Rolling" })),
            invalid,
            "spec.strategy.type is \"Rolling\"",
        ),
        (
            "no-bounds",
            strategy(json!({ "rollingUpdate": null })),
            invalid,
            "spec.strategy.rollingUpdate is missing",
        ),
        (
            "half-bounds",
            strategy(json!({ "rollingUpdate": { "maxSurge": null } })),
            invalid,
            "spec.strategy.rollingUpdate.maxSurge is missing",
        ),
        (
            "odd-bounds",
            strategy(json!({ "rollingUpdate": { "maxUnavailable": "some" } })),
            invalid,
            "spec.strategy.rollingUpdate.maxUnavailable",
        ),
        (
            "nobody-chooses",
            strategy(
                json!({ "type": "InPlaceUpdate", "inPlaceUpdate": { "maxSurge": 1, "maxUnavailable": 1 } }),
            ),
            invalid,
            "spec.strategy.inPlaceUpdate.orchestrationType is missing",
        ),
    ]
}

/// As a merge patch does it.
fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (key, change) in changes {
                match change {
                    Value::Null => drop(fields.remove(key)),
                    change => merge(fields.entry(key).or_insert(Value::Null), change),
                }
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

#[tokio::test]
async fn a_deployment_that_cannot_be_parsed_creates_nothing_and_says_how_to_fix_it() {
    installed(without_rules(), async |lab, _| {
        let fleet = FleetWatch::start(lab.machines(), watcher::Config::default()).await?;
        for (name, patch, _, _) in wrong() {
            let mut raw = raw_deployment(name, "small", 2, &rolling(&json!(1), &json!(0)));
            merge(&mut raw, &patch);
            make(lab, &raw).await?;
        }
        for (name, _, reason, part) in wrong() {
            says(lab, name, reason, part).await.with_context(|| name.to_owned())?;
        }
        ensure!(sets(lab).await? == 0, "none has a set");
        ensure!(fleet.stretch().most == 0, "none has a Machine: {:?}", fleet.stretch());
        // The corrected one works; the others can be deleted, which the test does in the end.
        let corrected = json!({ "spec": { "selector": { "matchLabels": { "name": "selects-nothing" } } } });
        lab.patch_deployment("selects-nothing", &corrected).await?;
        lab.deployment_is_complete("selects-nothing").await?;
        fleet.stretch().keeps_to(FleetBounds { most: 2, fewest_available: 0 })
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: a minute of rollouts"]
async fn bounds_that_would_hold_a_rollout_for_ever_or_mean_more_than_all_count_as_what_works() {
    installed(without_rules(), async |lab, _| {
        lab.put_class(&lab.cloud.large_class("large", "sim")).await?;
        let fleet = FleetWatch::start(lab.machines(), watcher::Config::default()).await?;
        for (name, surge, unavailable, bounds, part) in [
            (
                "neither",
                json!(0),
                json!("0%"),
                FleetBounds { most: 2, fewest_available: 1 },
                "maxUnavailable counts as 1",
            ),
            (
                "more-than-all",
                json!("150%"),
                json!("150%"),
                FleetBounds { most: 5, fewest_available: 0 },
                "maxUnavailable 150% counts as 100%",
            ),
        ] {
            make(lab, &raw_deployment(name, "small", 2, &rolling(&surge, &unavailable))).await?;
            lab.deployment_is_complete(name).await?;
            lab.deployment_reason(name, "Complete", part).await?;
            lab.event("MachineDeployment", name, "Complete", part).await?;
            fleet.begin();
            lab.roll(name, "large").await?;
            lab.deployment_is_complete(name).await?;
            fleet.stretch().keeps_to(bounds).with_context(|| name.to_owned())?;
            lab.delete_deployment(name).await?;
            fleet.until("its Machines are gone", |tally| tally.objects == 0).await?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_class_that_is_not_there_is_named_and_makes_no_more_machines_than_are_wanted() {
    installed(without_rules(), async |lab, _| {
        let fleet = FleetWatch::start(lab.machines(), watcher::Config::default()).await?;
        make(lab, &raw_deployment("early", "later", 2, &rolling(&json!(1), &json!(0)))).await?;
        lab.deployment_reason("early", "WaitingForMachines", "").await?;
        fleet.until("two Machines are there", |tally| tally.objects == 2).await?;
        let names = fleet.look(|fleet| fleet.machines().keys().cloned().collect::<Vec<_>>());
        for name in names {
            lab.machine_reason(&name, "ClassMissing", "later").await?;
        }
        lab.put_class(&lab.cloud.class("later", "sim")).await?;
        lab.deployment_is_complete("early").await?;
        ensure!(fleet.stretch().made == 2, "the same Machines get their VMs: {:?}", fleet.stretch());
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn deployments_that_select_each_others_machines_keep_to_their_own_and_report_it() {
    installed(without_rules(), async |lab, _| {
        let fleet = FleetWatch::start(lab.machines(), watcher::Config::default()).await?;
        let strategy = rolling(&json!(1), &json!(0));
        let mut honest = raw_deployment("honest", "small", 2, &strategy);
        merge(
            &mut honest,
            &json!({ "spec": { "template": { "metadata": { "labels": { "team": "blue" } } } } }),
        );
        make(lab, &honest).await?;
        lab.deployment_is_complete("honest").await?;
        // Selects the Machines of the honest one too, and an equal twin of itself all of them.
        for name in ["greedy", "twin"] {
            let mut greedy = raw_deployment(name, "small", 1, &strategy);
            let labels = json!({ "team": "blue", "name": null });
            merge(
                &mut greedy,
                &json!({ "spec": {
                "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels } },
            } }),
            );
            make(lab, &greedy).await?;
        }
        for name in ["greedy", "twin"] {
            lab.deployment_is_complete(name).await?;
            lab.deployment_reason(name, "Complete", "give each deployment a label of its own").await?;
            lab.event("MachineDeployment", name, "Complete", "its selector overlaps with that of").await?;
        }
        // A number that changes is followed by its own Machines.
        lab.scale("greedy", 2).await?;
        lab.deployment_is_complete("greedy").await?;
        lab.scale("twin", 0).await?;
        lab.deployment_is_complete("twin").await?;
        fleet.until("four are left", |tally| tally.objects == 4 && tally.available == 4).await?;
        let honest = lab.deployment_is_complete("honest").await?;
        ensure!(honest.status.unwrap_or_default().replicas == Some(2), "it counts its own Machines only");
        let stretch = fleet.stretch();
        ensure!((stretch.most, stretch.made) == (5, 5), "nobody makes Machines for others: {stretch:?}");
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: lives of the runtime show it on each change"]
async fn a_revision_that_is_gone_changes_nothing_and_is_reported_with_those_that_are_kept() {
    installed(without_rules(), async |lab, _| {
        lab.put_class(&lab.cloud.large_class("large", "sim")).await?;
        let fleet = FleetWatch::start(lab.machines(), watcher::Config::default()).await?;
        let mut raw = raw_deployment("pool", "small", 1, &rolling(&json!(1), &json!(0)));
        raw["spec"]["revisionHistoryLimit"] = json!(0);
        make(lab, &raw).await?;
        lab.deployment_is_complete("pool").await?;
        lab.roll("pool", "large").await?;
        lab.deployment_is_complete("pool").await?;
        eventually("the old set is gone", async || Ok((sets(lab).await? == 1).then_some(()))).await?;
        fleet.begin();
        for (revision, part) in
            [(7, "revision 7 is not kept (spec.revisionHistoryLimit is 0)"), (0, "an earlier revision")]
        {
            lab.roll_back("pool", revision).await?;
            lab.event("MachineDeployment", "pool", "DeploymentRollbackRevisionNotFound", part).await?;
            eventually("the wish is taken away", async || {
                Ok(lab.deployments().get("pool").await?.spec.rollback_to.is_none().then_some(()))
            })
            .await?;
        }
        lab.deployment_is_complete("pool").await?;
        ensure!(
            fleet.stretch().made == 0 && fleet.stretch().gone == 0,
            "nothing is rolled: {:?}",
            fleet.stretch()
        );
        Ok(())
    })
    .await;
}
