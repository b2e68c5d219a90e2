//! The actions of users and of the autoscaler on sets and deployments.

use std::time::Duration;

use machinist_api::names::{annotations, labels};
use memory_api::Propagation;
use serde_json::{Value, json};

use super::Actors;
use crate::cluster::pools::{Pool, is_complete, strategy, wishes};
use crate::names::{NAMESPACE, ZONES};
use crate::plan::{Owners, POOL_ACTIONS, PoolAction};
use crate::rng::Rng;

/// Texts in the place of a time-out that are none, or that mean the default.
const INVALID_TIMEOUTS: [&str; 6] = ["20min", "20", "1d", "-15m", "", "20m"];

impl Actors {
    /// Acts on sets and deployments until it is dropped.
    pub(super) async fn pool_users(&self) {
        let mut rng = Rng::new(self.plan.seed, "pools");
        let pools = self.fleet.pools().pools.clone();
        loop {
            tokio::time::sleep(rng.pause(self.plan.hourly.pools)).await;
            let favourite = self.plan.favourite_of_pools.filter(|_| rng.happens(0.5));
            let action = favourite.or_else(|| rng.weighed(&POOL_ACTIONS));
            if let (Some(pool), Some(action)) = (rng.pick(&pools), action) {
                self.on_pool(action, pool, &mut rng);
            }
        }
    }

    fn on_pool(&self, action: PoolAction, pool: &Pool, rng: &mut Rng) {
        let Some(plural) = self.plan.owners.plural() else { return };
        let path = format!("{NAMESPACE}/{}", pool.name);
        let is_deployment = self.plan.owners == Owners::Deployments;
        match action {
            PoolAction::Scale => {
                let replicas = rng.below(pool.size * 2 + 1);
                self.watchman.note(("user scales", &format!("{} to {replicas}", pool.name)));
                let _ = self.api.scale(plural, &path, replicas);
            }
            PoolAction::Roll => self.edit_pool("user rolls", plural, &pool.name, &rolled(rng)),
            PoolAction::Retaint => {
                let taint = json!({ "key": "pool", "value": number(rng), "effect": "NoSchedule" });
                let template = json!({ "metadata": { "labels": { "pool": number(rng) } }, "spec": { "taints": [taint] } });
                let patch = json!({ "spec": { "template": { "spec": { "nodeTemplate": template } } } });
                self.edit_pool("user changes labels and taints of", plural, &pool.name, &patch);
            }
            PoolAction::Delete => self.delete_owner(plural, &pool.name, rng),
            PoolAction::Thaw => {
                let patch = json!({ "metadata": { "annotations": { annotations::UNFREEZE: "true" } } });
                self.edit_pool("user thaws", plural, &pool.name, &patch);
            }
            PoolAction::Release => self.release(&pool.name, rng),
            PoolAction::Mistype => self.mistype(plural, &pool.name, rng),
            PoolAction::EditSet if !is_deployment => {}
            PoolAction::Pause
            | PoolAction::Undo
            | PoolAction::Restrategize
            | PoolAction::EditSet
            | PoolAction::DeleteSet
            | PoolAction::Wish
            | PoolAction::ScaleUp
            | PoolAction::ScaleDown
                if is_deployment =>
            {
                self.on_deployment(action, pool, rng);
            }
            PoolAction::Pause
            | PoolAction::Undo
            | PoolAction::Restrategize
            | PoolAction::EditSet
            | PoolAction::DeleteSet
            | PoolAction::Wish
            | PoolAction::ScaleUp
            | PoolAction::ScaleDown => {}
        }
    }

    fn on_deployment(&self, action: PoolAction, pool: &Pool, rng: &mut Rng) {
        let name = pool.name.as_str();
        let plural = "machinedeployments";
        match action {
            PoolAction::Pause => {
                self.edit_pool("user pauses", plural, name, &json!({ "spec": { "paused": true } }));
                if rng.happens(0.8) {
                    let after = rng.between(Duration::from_secs(1), Duration::from_mins(10));
                    let (this, name) = (self.clone(), name.to_owned());
                    tokio::spawn(async move {
                        tokio::time::sleep(after).await;
                        this.edit_pool(
                            "user resumes",
                            plural,
                            &name,
                            &json!({ "spec": { "paused": false } }),
                        );
                    });
                }
            }
            PoolAction::Undo => {
                let revision = if rng.happens(0.6) { 0 } else { rng.below(6) };
                self.edit_pool(
                    "user rolls back",
                    plural,
                    name,
                    &json!({ "spec": { "rollbackTo": { "revision": revision } } }),
                );
            }
            PoolAction::Restrategize => {
                self.edit_pool(
                    "user changes the strategy of",
                    plural,
                    name,
                    &json!({ "spec": { "strategy": strategy(rng) } }),
                );
            }
            PoolAction::EditSet => {
                let Some(set) = rng.pick(&self.sets_of(name)).cloned() else { return };
                let replicas = rng.below(pool.size * 2 + 4);
                self.watchman.note(("user scales set", &format!("{set} to {replicas}")));
                let _ = self.api.scale("machinesets", &format!("{NAMESPACE}/{set}"), replicas);
            }
            PoolAction::DeleteSet => {
                if let Some(set) = rng.pick(&self.sets_of(name)).cloned() {
                    self.delete_owner("machinesets", &set, rng);
                }
            }
            PoolAction::Wish => self.edit_pool(
                "user wishes of",
                plural,
                name,
                &json!({ "metadata": { "annotations": wishes(rng) } }),
            ),
            PoolAction::ScaleUp => self.scale_up(name, pool.size * 2, rng),
            PoolAction::ScaleDown => self.scale_down(pool, rng),
            PoolAction::Scale
            | PoolAction::Roll
            | PoolAction::Retaint
            | PoolAction::Delete
            | PoolAction::Thaw
            | PoolAction::Mistype
            | PoolAction::Release => {}
        }
    }

    fn edit_pool(&self, what: &str, plural: &str, name: &str, patch: &Value) {
        self.watchman.note((what, &format!("{name}: {patch}")));
        // It may have been deleted.
        let _ = self.api.edit(plural, &format!("{NAMESPACE}/{name}"), patch);
    }

    /// A text that is no time-out, in an annotation or in the template.
    fn mistype(&self, plural: &'static str, name: &str, rng: &mut Rng) {
        let is_annotation = rng.happens(0.5);
        let patch = move |text: Option<&str>| {
            if is_annotation {
                json!({ "metadata": { "annotations": { annotations::EFFECTIVE_CREATION_TIMEOUT: text } } })
            } else {
                json!({ "spec": { "template": { "spec": { "creationTimeout": text } } } })
            }
        };
        let mistyped = patch(rng.pick(&INVALID_TIMEOUTS).copied());
        self.edit_pool("user mistypes a time-out of", plural, name, &mistyped);
        if rng.happens(0.8) {
            let after = rng.between(Duration::from_secs(1), Duration::from_mins(15));
            let right = patch(rng.pick(&[None, Some("25m")]).copied().flatten());
            let (this, name) = (self.clone(), name.to_owned());
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                this.edit_pool("user corrects a time-out of", plural, &name, &right);
            });
        }
    }

    fn delete_owner(&self, plural: &str, name: &str, rng: &mut Rng) {
        let ways = [Propagation::Background, Propagation::Foreground, Propagation::Orphan];
        let path = format!("{NAMESPACE}/{name}");
        let way = rng.pick(&ways).copied().filter(|_| rng.happens(0.7));
        self.watchman.note(("user deletes", &format!("{plural} {name} {way:?}")));
        let _ = match way {
            Some(way) => self.api.delete_with(plural, &path, way),
            None => self.api.delete(plural, &path),
        };
    }

    /// Another label takes a Machine out of the selector of its set.
    fn release(&self, pool: &str, rng: &mut Rng) {
        let Some((name, hash)) = rng.pick(&self.machines_of(pool)).cloned() else { return };
        self.watchman.note(("user takes from its set", &name));
        let path = format!("{NAMESPACE}/{name}");
        let label = |pool: Value, hash: Value| json!({ "metadata": { "labels": { labels::DEPLOYMENT: pool, labels::TEMPLATE_HASH: hash } } });
        let _ = self.api.edit("machines", &path, &label(json!("taken"), Value::Null));
        if rng.happens(0.7) {
            let after = rng.between(Duration::from_millis(10), Duration::from_mins(3));
            let (this, pool) = (self.clone(), pool.to_owned());
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                this.watchman.note(("user gives back", &name));
                let _ = this.api.edit("machines", &path, &label(json!(pool), json!(hash)));
            });
        }
    }

    fn scale_up(&self, name: &str, most: usize, rng: &mut Rng) {
        let Some(deployment) = self.api.find("machinedeployments", &format!("{NAMESPACE}/{name}")) else {
            return;
        };
        let more = replicas(&deployment) + 1 + rng.below(2);
        self.edit_pool(
            "autoscaler scales up",
            "machinedeployments",
            name,
            &json!({ "spec": { "replicas": more.min(most) } }),
        );
    }

    /// One write: fewer, which ones, and when. Mostly not during a rollout, as the autoscaler does.
    fn scale_down(&self, pool: &Pool, rng: &mut Rng) {
        let name = pool.name.as_str();
        let Some(deployment) = self.api.find("machinedeployments", &format!("{NAMESPACE}/{name}")) else {
            return;
        };
        if !is_complete(&deployment) && rng.happens(0.6) {
            return;
        }
        let mut machines = self.machines_of(name);
        let mut chosen = Vec::new();
        for _ in 0..=rng.below(2) {
            if !machines.is_empty() && chosen.len() < replicas(&deployment) {
                chosen.push(machines.swap_remove(rng.below(machines.len())).0);
            }
        }
        if chosen.is_empty() {
            return;
        }
        let now = jiff::Timestamp::from_second(self.clock.now().as_second()).unwrap_or_default();
        let listed = &deployment["metadata"]["annotations"][annotations::TRIGGER_DELETION];
        let listed = listed.as_str().unwrap_or_default().split(',').map(str::to_owned);
        let entries = listed.chain(chosen.iter().map(|machine| format!("{machine}~{now}")));
        let list: Vec<String> = entries.filter(|entry| !entry.is_empty()).collect();
        let patch = json!({
            "metadata": { "annotations": {
                annotations::TRIGGER_DELETION: list.join(","),
                annotations::REPLICA_CHANGE_BY_SCALER_TIME: now.to_string(),
            } },
            "spec": { "replicas": replicas(&deployment) - chosen.len() },
        });
        self.edit_pool("autoscaler scales down", "machinedeployments", name, &patch);
        if rng.happens(0.3) {
            let after = rng.between(Duration::ZERO, Duration::from_secs(3));
            let (this, name, most) = (self.clone(), name.to_owned(), pool.size * 2);
            let mut rng = Rng::new(self.plan.seed, &format!("race {now}"));
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                this.scale_up(&name, most, &mut rng);
            });
        }
    }

    fn sets_of(&self, pool: &str) -> Vec<String> {
        self.api.collect("machinesets", |set| {
            let meta = &set["metadata"];
            let is_its = set["spec"]["template"]["metadata"]["labels"][labels::DEPLOYMENT] == pool;
            meta["name"].as_str().filter(|_| is_its && meta["deletionTimestamp"].is_null()).map(str::to_owned)
        })
    }

    /// Names of Machines that nobody has asked to go, with the hash on them.
    fn machines_of(&self, pool: &str) -> Vec<(String, Option<String>)> {
        self.api.collect("machines", |machine| {
            let meta = &machine["metadata"];
            let is_its = meta["labels"][labels::DEPLOYMENT] == pool && meta["deletionTimestamp"].is_null();
            let hash = meta["labels"][labels::TEMPLATE_HASH].as_str().map(str::to_owned);
            meta["name"].as_str().filter(|_| is_its).map(|name| (name.to_owned(), hash))
        })
    }
}

/// Another class, or the same one again.
fn rolled(rng: &mut Rng) -> Value {
    let template = if rng.happens(0.6) {
        let zone = rng.pick(&ZONES).copied().unwrap_or_default();
        json!({ "spec": { "class": { "name": zone } } })
    } else {
        json!({ "metadata": { "annotations": { annotations::RESTARTED_AT: number(rng) } } })
    };
    json!({ "spec": { "template": template } })
}

fn replicas(deployment: &Value) -> usize {
    deployment["spec"]["replicas"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default()
}

fn number(rng: &mut Rng) -> String {
    rng.below(1_000).to_string()
}
