//! Prints the tree of a namespace as text.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::model::{DeploymentNode, Forest, MachineNode, Role, SetNode};
use crate::explain::short;
use crate::owner_tree::Note;

/// So many Machines of one kind are shown one by one when something is to be said of them.
const SHOWN: usize = 3;

pub(super) fn text(forest: &Forest, now: Timestamp) -> String {
    let deployments = forest.deployments.iter().map(|deployment| deployment_branch(deployment, now));
    let sets = forest.sets.iter().map(|set| set_branch(set, true, now));
    let strays = Branch {
        line: "Machines without a MachineSet".to_owned(),
        notes: Vec::new(),
        children: machines(&forest.machines, now),
    };
    let strays = (!forest.machines.is_empty()).then_some(strays);
    let roots: Vec<Branch> = deployments.chain(sets).chain(strays).collect();
    if roots.is_empty() {
        return format!(
            "No MachineDeployments, MachineSets or Machines in namespace {}: choose another with -n.\n",
            forest.namespace
        );
    }
    draw(&roots)
}

fn deployment_branch(deployment: &DeploymentNode, now: Timestamp) -> Branch {
    let rollout = &deployment.rollout;
    let mut line = format!("machinedeployment/{}  {}", deployment.name, rollout.state.as_str());
    line.push_str(&format!(
        ": {} of {} updated, {} available, {} there",
        rollout.updated, rollout.wanted, rollout.available, rollout.machines
    ));
    if let Some(revision) = deployment.revision {
        line.push_str(&format!("; revision {revision}"));
    }
    if !deployment.strategy.is_empty() {
        line.push_str(&format!("; {}", deployment.strategy));
    }
    let mut notes: Vec<String> = deployment.notes.iter().map(|note| sentence(note, now)).collect();
    match deployment.rollback_to {
        Some(0) => {
            notes.push("is to return to the revision before the current one (spec.rollbackTo)".to_owned());
        }
        Some(revision) => notes.push(format!("is to return to revision {revision} (spec.rollbackTo)")),
        None => {}
    }
    let (kept, shown): (Vec<&SetNode>, Vec<&SetNode>) =
        deployment.sets.iter().partition(|set| set.is_only_kept());
    let mut children: Vec<Branch> = shown.into_iter().map(|set| set_branch(set, false, now)).collect();
    children.extend(kept_branch(&kept));
    Branch { line, notes, children }
}

/// Sets without Machines, in one line.
fn kept_branch(kept: &[&SetNode]) -> Option<Branch> {
    let names = kept.iter().map(|set| match set.revision {
        Some(revision) => format!("revision {revision} ({})", set.name),
        None => set.name.clone(),
    });
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| Branch::leaf(format!("kept to return to: {}", names.join(", "))))
}

/// The branch of a set. A root names its missing deployment.
fn set_branch(set: &SetNode, is_root: bool, now: Timestamp) -> Branch {
    let mut parts = vec![format!("machineset/{}", set.name)];
    match &set.role {
        Role::New => parts.push("new".to_owned()),
        Role::Old => parts.push("old".to_owned()),
        Role::Free if is_root => parts.push("without a MachineDeployment".to_owned()),
        Role::Free => {}
        Role::Orphan(owner) => parts.push(format!("of {owner}, which is not there")),
    }
    if let Some(asked) = set.deletion_asked {
        parts.push(format!("being deleted {}", age(asked, now)));
    }
    parts.extend(set.revision.map(|revision| format!("revision {revision}")));
    if !set.class.is_empty() {
        parts.push(format!("class {}", set.class));
    }
    parts.push(format!("{} wanted, {} available", set.wanted, set.available));
    Branch {
        line: parts.join("  "),
        notes: set.notes.iter().map(|note| sentence(note, now)).collect(),
        children: machines(&set.machines, now),
    }
}

/// Counts equal Machines, and shows the first of those that need attention.
fn machines(machines: &[MachineNode], now: Timestamp) -> Vec<Branch> {
    let (well, unusual): (Vec<&MachineNode>, Vec<&MachineNode>) =
        machines.iter().partition(|machine| machine.is_well());
    let mut counted: BTreeMap<&str, Vec<&MachineNode>> = BTreeMap::new();
    for machine in well {
        counted.entry(&machine.state).or_default().push(machine);
    }
    let mut groups: BTreeMap<(String, String), Vec<&MachineNode>> = BTreeMap::new();
    for machine in unusual {
        groups.entry((state(machine), reasons(machine))).or_default().push(machine);
    }
    let counted = counted.into_iter().map(|(state, group)| match group.as_slice() {
        [one] => machine_branch(one, now),
        _ => Branch::leaf(format!("{} × {state}", group.len())),
    });
    let mut branches: Vec<Branch> = counted.collect();
    for ((state, reasons), group) in groups {
        branches.extend(group.iter().take(SHOWN).map(|machine| machine_branch(machine, now)));
        let more = group.len().saturating_sub(SHOWN);
        if more > 0 {
            let why = if reasons.is_empty() { String::new() } else { format!(": {reasons}") };
            branches.push(Branch::leaf(format!("and {more} more × {state}{why}")));
        }
    }
    branches
}

fn machine_branch(machine: &MachineNode, now: Timestamp) -> Branch {
    let mut line = format!("machine/{}  {}", machine.name, state(machine));
    let since = machine.deletion_asked.or(machine.since);
    if let Some(since) = since {
        line.push_str(&format!(" {}", age(since, now)));
    }
    let mut notes: Vec<String> = machine.notes.iter().map(|note| sentence(note, now)).collect();
    if let Some(until) = machine.preserved_until {
        notes.push(format!("preserved until {until:.0}"));
    }
    if machine.is_marked {
        notes.push("goes first when its set gets smaller".to_owned());
    }
    if let Some(owner) = &machine.orphan_of {
        notes.push(format!("of {owner}, which is not there"));
    }
    Branch { line, notes, children: Vec::new() }
}

/// The phase, and the deletion where the phase does not show it.
fn state(machine: &MachineNode) -> String {
    match machine.deletion_asked {
        Some(_) if machine.state != "Terminating" => format!("{}, being deleted", machine.state),
        Some(_) | None => machine.state.clone(),
    }
}

/// The reasons by which Machines are grouped.
fn reasons(machine: &MachineNode) -> String {
    let notes = machine.notes.iter().map(|note| note.reason.as_str());
    let preserved = machine.preserved_until.map(|_| "preserved");
    let marked = machine.is_marked.then_some("goes first when its set gets smaller");
    let orphan = machine.orphan_of.as_ref().map(|_| "its owner is not there");
    notes.chain(preserved).chain(marked).chain(orphan).collect::<Vec<_>>().join(", ")
}

fn sentence(note: &Note, now: Timestamp) -> String {
    let since = note.since.map(|since| format!(" ({})", age(since, now))).unwrap_or_default();
    if note.message.is_empty() {
        format!("{}{since}", note.reason)
    } else {
        format!("{}{since}: {}", note.reason, note.message)
    }
}

fn age(since: Timestamp, now: Timestamp) -> String {
    short(now.duration_since(since).max(SignedDuration::ZERO))
}

/// A line, its notes, and its children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Branch {
    line: String,
    notes: Vec<String>,
    children: Vec<Branch>,
}

impl Branch {
    fn leaf(line: impl Into<String>) -> Self {
        Self { line: line.into(), ..Self::default() }
    }
}

/// The trees, one after the other.
fn draw(roots: &[Branch]) -> String {
    let mut out = String::new();
    for (number, root) in roots.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        grow(root, "", "", &mut out);
    }
    out
}

/// `first`: the prefix of its line; `rest`: the prefix of the lines below.
fn grow(branch: &Branch, first: &str, rest: &str, out: &mut String) {
    let mut line = |before: &str, text: &str| {
        out.push_str(before);
        out.push_str(text);
        out.push('\n');
    };
    line(first, &branch.line);
    let stem = if branch.children.is_empty() { "   " } else { "│  " };
    for note in &branch.notes {
        line(&format!("{rest}{stem}"), note);
    }
    let Some((last, others)) = branch.children.split_last() else { return };
    for child in others {
        grow(child, &format!("{rest}├─ "), &format!("{rest}│  "), out);
    }
    grow(last, &format!("{rest}└─ "), &format!("{rest}   "), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_go_on_as_long_as_something_hangs_on_them() {
        let noted = |line: &str, children| Branch { line: line.into(), notes: vec!["why".into()], children };
        let tree = noted("a", vec![noted("b", vec![Branch::leaf("c")]), noted("d", vec![])]);
        expect_test::expect![[r#"
            a
            │  why
            ├─ b
            │  │  why
            │  └─ c
            └─ d
                  why

            e
        "#]]
        .assert_eq(&draw(&[tree, Branch::leaf("e")]));
    }
}
