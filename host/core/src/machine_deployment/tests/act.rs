//! Passes over the deployment of a world: its effects are done there, unless something goes wrong.

use crate::disruption::budget::DisruptionHistory;
use crate::driver::write_error::ActError;
use crate::machine::Requeue;
use crate::machine_deployment::{
    DeploymentChange, DeploymentConclusion, DeploymentEffect, DeploymentProgress, DeploymentStep,
    EffectResult, ExistingSet, MachineChange, NewSet, OwnedSetFact, RolloutNodeChange, ScaleDown, SetChange,
    SetKey, SetOwner, SetStatusFact, UpdateStage, invariants, step,
};
use crate::value::phase::Phase;

use super::cluster::{Cluster, Kind};
use super::dice::Dice;
use super::facts::NAMES;

/// The deployment's name among those who write.
const OWNER: &str = "deployment";

/// No reconcile needs more.
const BATCHES_PER_PASS: usize = 6;

/// One reconcile; what it concluded, unless it died or could not begin.
pub(super) fn pass(world: &mut Cluster, dice: &mut Dice) -> Option<DeploymentConclusion> {
    let view = world.view()?;
    if !world.is_free(OWNER) {
        return None;
    }
    let now = world.now;
    let mut progress = DeploymentProgress::default();
    for _ in 0..BATCHES_PER_PASS {
        let effects = match step(&view, &progress, now) {
            DeploymentStep::Act(effects) => effects,
            DeploymentStep::Finish(conclusion) => {
                if let Err(violation) = invariants::conclusion(&view, &progress, &conclusion) {
                    world.complaints.insert(violation.to_string());
                }
                publish(world, &conclusion);
                return Some(conclusion);
            }
        };
        if let Err(violation) = invariants::batch(&view, &progress, &effects, now) {
            world.complaints.insert(format!("{violation}: {effects:?}"));
        }
        for effect in effects {
            if world.trouble.writes_fail && dice.one_in(60) {
                world.restart();
                return None;
            }
            let outcome = troubled(world, dice, &effect);
            progress.record(effect, outcome);
        }
    }
    world.complaints.insert("a pass does not end".into());
    None
}

fn troubled(
    world: &mut Cluster,
    dice: &mut Dice,
    effect: &DeploymentEffect,
) -> Result<EffectResult, ActError> {
    if !world.trouble.writes_fail {
        return act(world, OWNER, effect);
    }
    let message = || "so it is".to_owned();
    if dice.one_in(25) {
        return Err(ActError::Unreachable { message: message() });
    }
    if dice.one_in(25) {
        // It happens, and nobody here knows: the next reconcile does not wait for it.
        let _ = act(world, "", effect);
        return Err(ActError::Ambiguous { message: message() });
    }
    act(world, OWNER, effect)
}

fn publish(world: &mut Cluster, conclusion: &DeploymentConclusion) {
    if conclusion.wake == Requeue::Gone || !world.is_current(Kind::Deployment, OWNER) {
        return;
    }
    let Some(deployment) = world.truth.deployment.as_mut() else { return };
    if deployment.status != conclusion.status {
        deployment.status = conclusion.status.clone();
        world.wrote(OWNER, Kind::Deployment, OWNER);
    }
}

fn act(world: &mut Cluster, owner: &str, effect: &DeploymentEffect) -> Result<EffectResult, ActError> {
    match effect {
        DeploymentEffect::WriteDeployment(change) => write_deployment(world, owner, change),
        DeploymentEffect::AdoptSet(set) => own(world, owner, set, SetOwner::This),
        DeploymentEffect::ReleaseSet(set) => own(world, owner, set, SetOwner::Nobody),
        DeploymentEffect::CreateSet(set) => create_set(world, owner, set),
        DeploymentEffect::WriteSet { set, change } => write_set(world, owner, set, change),
        DeploymentEffect::DeleteSet(set) => {
            let Some(fact) = world.truth.sets.get_mut(set.name.as_str()) else { return Err(ActError::Gone) };
            fact.is_deleting = true;
            world.wrote(owner, Kind::Set, set.name.as_str());
            Ok(EffectResult::Done)
        }
        DeploymentEffect::WriteMachine { machine, change } => {
            write_machine(world, owner, (machine.name.as_str(), machine.uid.as_str()), change)
        }
        DeploymentEffect::WriteNode { node, change } => write_node(world, owner, node.as_str(), change),
    }
}

fn write_deployment(
    world: &mut Cluster,
    owner: &str,
    change: &DeploymentChange,
) -> Result<EffectResult, ActError> {
    if !world.is_current(Kind::Deployment, OWNER) {
        return Err(ActError::Conflict);
    }
    let sets = world.truth.sets.clone();
    let Some(deployment) = world.truth.deployment.as_mut() else { return Err(ActError::Gone) };
    let noted = |deployment: &crate::machine_deployment::DeploymentFact| {
        DisruptionHistory::parse(deployment.annotations.get("taken").map_or("", String::as_str))
    };
    let before = noted(deployment);
    merge(&mut deployment.annotations, &change.annotations);
    let after = noted(deployment);
    let fresh = after.names().filter(|name| before.get(name).is_none()).map(ToString::to_string);
    let fresh: Vec<(String, jiff::Timestamp)> = fresh.map(|name| (name, world.now)).collect();
    world.permit_deletions.extend(fresh);
    let Some(deployment) = world.truth.deployment.as_mut() else { return Err(ActError::Gone) };
    deployment.is_labelled_frozen = change.freeze.unwrap_or(deployment.is_labelled_frozen);
    if let Some(to) = &change.rollback {
        deployment.spec.rollback_to = None;
        deployment.generation += 1;
        if let Some(set) = to.as_ref().and_then(|to| sets.get(to.name.as_str())) {
            deployment.spec.template = set.template.clone();
            deployment.spec.template.labels.remove(NAMES.template_hash);
        }
    }
    match change.finalizer {
        Some(true) => deployment.has_finalizer = true,
        Some(false) => world.truth.deployment = None,
        None => {}
    }
    world.wrote(owner, Kind::Deployment, OWNER);
    Ok(EffectResult::Done)
}

fn merge(
    into: &mut std::collections::BTreeMap<String, String>,
    change: &std::collections::BTreeMap<String, Option<String>>,
) {
    for (key, value) in change {
        match value {
            Some(value) => into.insert(key.clone(), value.clone()),
            None => into.remove(key),
        };
    }
}

/// The set, if it is as the cache shows it.
fn current<'a>(world: &'a mut Cluster, set: &SetKey) -> Result<&'a mut OwnedSetFact, ActError> {
    let is_current = world.is_current(Kind::Set, set.name.as_str());
    let fact = world.truth.sets.get_mut(set.name.as_str()).filter(|fact| fact.uid == set.uid);
    let fact = fact.ok_or(ActError::Gone)?;
    if is_current { Ok(fact) } else { Err(ActError::Conflict) }
}

fn own(world: &mut Cluster, owner: &str, set: &SetKey, by: SetOwner) -> Result<EffectResult, ActError> {
    current(world, set)?.owner = by;
    world.wrote(owner, Kind::Set, set.name.as_str());
    Ok(EffectResult::Done)
}

fn create_set(world: &mut Cluster, owner: &str, set: &NewSet) -> Result<EffectResult, ActError> {
    if let Some(other) = world.truth.sets.get(set.name.as_str()) {
        return Ok(EffectResult::Taken(ExistingSet {
            is_own: other.owner == SetOwner::This,
            is_deleting: other.is_deleting,
            template: other.template.clone(),
        }));
    }
    let Some(deployment) = &world.truth.deployment else { return Err(ActError::Gone) };
    let mut template = deployment.spec.template.clone();
    template.labels.insert(NAMES.template_hash.into(), set.hash.clone());
    let fact = OwnedSetFact {
        name: set.name.clone(),
        uid: format!("uid-{}-{}", set.name, world.writes).as_str().into(),
        created: world.now,
        is_deleting: false,
        generation: 1,
        observed_generation: None,
        owner: SetOwner::This,
        is_selected: true,
        wanted: set.replicas,
        template,
        selected_hash: Some(set.hash.clone()),
        annotations: set.annotations.clone(),
        is_scale_up_disabled: false,
        is_frozen: false,
        min_ready_seconds: deployment.spec.min_ready_seconds,
        auto_preserve_max: deployment.spec.auto_preserve_max,
        status: SetStatusFact::default(),
        machines: Vec::new(),
    };
    world.truth.sets.insert(set.name.to_string(), fact);
    world.wrote(owner, Kind::Set, set.name.as_str());
    Ok(EffectResult::Done)
}

fn write_set(
    world: &mut Cluster,
    owner: &str,
    set: &SetKey,
    change: &SetChange,
) -> Result<EffectResult, ActError> {
    let template = world.truth.deployment.as_ref().map(|deployment| deployment.spec.template.clone());
    let fact = current(world, set)?;
    merge(&mut fact.annotations, &change.annotations);
    if let Some(value) = change.labels.get(NAMES.scale_up_disabled) {
        fact.is_scale_up_disabled = value.is_some();
    }
    if let Some((from, to)) = change.replicas {
        assert_eq!(from, fact.wanted, "a version that is current has the number that was observed");
        fact.wanted = to;
        fact.generation += 1;
    }
    if let Some(template) = template.filter(|_| change.takes_settings) {
        fact.template.handed_on = template.handed_on;
        fact.template.class_kind = template.class_kind;
        fact.generation += 1;
    }
    if let Some((key, value)) = &change.template_label {
        fact.template.labels.insert(key.clone(), value.clone());
        fact.generation += 1;
    }
    if let Some((_, value)) = &change.selector_label {
        fact.selected_hash = Some(value.clone());
        fact.generation += 1;
    }
    world.wrote(owner, Kind::Set, set.name.as_str());
    Ok(EffectResult::Done)
}

fn write_machine(
    world: &mut Cluster,
    owner: &str,
    (name, uid): (&str, &str),
    change: &MachineChange,
) -> Result<EffectResult, ActError> {
    let hashes: Vec<(String, Option<String>)> =
        world.truth.sets.values().map(|set| (set.name.to_string(), set.selected_hash.clone())).collect();
    let found = world.truth.machines.get_mut(name).filter(|machine| machine.fact.uid.as_str() == uid);
    let Some(machine) = found else { return Err(ActError::Gone) };
    match change {
        MachineChange::Mark { at } => {
            machine.fact.priority = 1;
            machine.fact.marked_at = at.or(machine.fact.marked_at);
        }
        MachineChange::Hash(hash) => machine.fact.hash = Some(hash.clone()),
        MachineChange::Transfer { to, .. } => {
            machine.set = to.name.to_string();
            machine.fact.is_updated_in_place = true;
            machine.fact.hash =
                hashes.into_iter().find(|(set, _)| *set == machine.set).and_then(|(_, hash)| hash);
        }
        MachineChange::Unlabel => machine.fact.is_updated_in_place = false,
    }
    world.wrote(owner, Kind::Machine, name);
    Ok(EffectResult::Done)
}

fn write_node(
    world: &mut Cluster,
    owner: &str,
    name: &str,
    change: &RolloutNodeChange,
) -> Result<EffectResult, ActError> {
    let is_its = |node: &crate::machine_deployment::RolloutNodeFact| node.name.as_str() == name;
    let machines = &world.truth.machines;
    let machine = machines.iter().find(|(_, machine)| machine.fact.node.as_ref().is_some_and(is_its));
    let Some(machine) = machine.map(|(machine, _)| machine.clone()) else { return Err(ActError::Gone) };
    if !world.is_current(Kind::Machine, &machine) {
        return Err(ActError::Conflict);
    }
    let fact = world.machine_mut(&machine).unwrap();
    let phase = fact.phase;
    let node = fact.node.as_mut().unwrap();
    node.has_old_taint = change.old_taint.unwrap_or(node.has_old_taint);
    match change.holds_autoscaler {
        Some(true) => node.scale_down = ScaleDown::HeldByUs,
        Some(false) => node.scale_down = ScaleDown::Allowed,
        None => {}
    }
    node.is_candidate = change.candidate.unwrap_or(node.is_candidate);
    node.is_selected = change.selected.unwrap_or(node.is_selected);
    if change.ends_update {
        (node.is_candidate, node.is_selected, node.update) = (false, false, None);
    }
    if change.uncordons {
        node.is_cordoned = false;
    }
    let is_handed_over = phase == Phase::InPlaceUpdating || node.stage == Some(UpdateStage::HandedOver);
    if is_handed_over && !node.is_candidate {
        world.complaints.insert(format!("Node {name} is taken back from who updates it"));
    }
    let available = world.available();
    if change.selected == Some(true) && !world.trouble.machines_fail && available < world.fewest {
        world
            .complaints
            .insert(format!("{available} available after a selection, and {} must be", world.fewest));
    }
    world.wrote(owner, Kind::Machine, &machine);
    Ok(EffectResult::Done)
}
