//! Prints the trees of a namespace as text.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::model::{
    ClusterApiForest, ClusterNode, DeploymentNode, Forest, Infrastructure, MachineNode, Role, SetNode, VmNode,
};
use crate::explain::short;
use crate::owner_tree::Note;

/// So many Machines of one kind are shown one by one when something is to be said of them.
const SHOWN: usize = 3;

pub(super) fn text(forest: &Forest, now: Timestamp) -> String {
    let deployments = forest.deployments.iter().map(|deployment| deployment_branch(deployment, now));
    let sets = forest.sets.iter().map(|set| set_branch(set, true, now));
    let strays = strays(&forest.machines, now);
    let cluster_api = forest.cluster_api.iter().flat_map(|forest| cluster_api(forest, now));
    let roots: Vec<Branch> = deployments.chain(sets).chain(strays).chain(cluster_api).collect();
    let mut text = if roots.is_empty() { empty(forest) } else { draw(&roots) };
    if let Some(why) = &forest.left_out {
        let gap = if roots.is_empty() { "" } else { "\n" };
        text.push_str(&format!("{gap}{why}\n"));
    }
    text
}

fn empty(forest: &Forest) -> String {
    let kinds = match forest.cluster_api {
        None => "MachineDeployments, MachineSets or Machines",
        Some(_) => "MachineDeployments, MachineSets, Machines, Clusters or MachinistMachines",
    };
    format!("No {kinds} in namespace {}: choose another with -n.\n", forest.namespace)
}

/// Machines that are in no set.
fn strays(machines: &[MachineNode], now: Timestamp) -> Option<Branch> {
    let line = "Machines without a MachineSet".to_owned();
    (!machines.is_empty()).then(|| Branch {
        line,
        notes: Vec::new(),
        children: machine_branches(machines, now),
    })
}

fn cluster_api(forest: &ClusterApiForest, now: Timestamp) -> Vec<Branch> {
    let vms = &forest.machinist_machines;
    let strays = Branch {
        line: "MachinistMachines without a Machine".to_owned(),
        notes: Vec::new(),
        children: grouped(vms, |_| false, |vm| (vm.state.as_str().to_owned(), vm_reasons(vm)), &|vm| {
            vm_branch(vm, None, now)
        }),
    };
    let clusters = forest.clusters.iter().map(|cluster| cluster_branch(cluster, now));
    clusters.chain((!vms.is_empty()).then_some(strays)).collect()
}

fn cluster_branch(cluster: &ClusterNode, now: Timestamp) -> Branch {
    let mut line = format!("cluster/{}  {}", cluster.name, cluster.state.as_str());
    if let Some(asked) = cluster.deletion_asked {
        line.push_str(&format!("; being deleted {}", age(asked, now)));
    }
    let owners = cluster.owners.iter().map(|owner| Branch {
        line: format!("{}/{}", owner.kind.to_lowercase(), owner.name),
        notes: Vec::new(),
        children: machine_branches(&owner.machines, now),
    });
    let deployments = cluster.deployments.iter().map(|deployment| deployment_branch(deployment, now));
    let sets = cluster.sets.iter().map(|set| set_branch(set, true, now));
    Branch {
        line,
        notes: sentences(&cluster.notes, now),
        children: owners.chain(deployments).chain(sets).chain(strays(&cluster.machines, now)).collect(),
    }
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
    let mut notes = sentences(&deployment.notes, now);
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
    parts.extend(set.template.as_ref().map(|template| format!("template {template}")));
    parts.push(format!("{} wanted, {} available", set.wanted, set.available));
    Branch {
        line: parts.join("  "),
        notes: sentences(&set.notes, now),
        children: machine_branches(&set.machines, now),
    }
}

fn machine_branches(machines: &[MachineNode], now: Timestamp) -> Vec<Branch> {
    grouped(machines, MachineNode::is_well, |machine| (state(machine), reasons(machine)), &|machine| {
        machine_branch(machine, now)
    })
}

/// Counts equal objects, and shows the first of those that need attention. `group`: the state and the reasons by which
/// they are equal.
fn grouped<T>(
    all: &[T],
    is_well: impl Fn(&T) -> bool,
    group: impl Fn(&T) -> (String, String),
    branch: &dyn Fn(&T) -> Branch,
) -> Vec<Branch> {
    let (well, unusual): (Vec<&T>, Vec<&T>) = all.iter().partition(|object| is_well(object));
    let mut counted: BTreeMap<String, Vec<&T>> = BTreeMap::new();
    for object in well {
        counted.entry(group(object).0).or_default().push(object);
    }
    let mut groups: BTreeMap<(String, String), Vec<&T>> = BTreeMap::new();
    for object in unusual {
        groups.entry(group(object)).or_default().push(object);
    }
    let counted = counted.into_iter().map(|(state, group)| match group.as_slice() {
        [one] => branch(one),
        _ => Branch::leaf(format!("{} × {state}", group.len())),
    });
    let mut branches: Vec<Branch> = counted.collect();
    for ((state, reasons), group) in groups {
        branches.extend(group.iter().take(SHOWN).map(|object| branch(object)));
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
    let mut notes = sentences(&machine.notes, now);
    if let Some(until) = machine.preserved_until {
        notes.push(format!("preserved until {until:.0}"));
    }
    if machine.is_marked {
        notes.push("goes first when its set gets smaller".to_owned());
    }
    if let Some(owner) = &machine.orphan_of {
        notes.push(format!("of {owner}, which is not there"));
    }
    let child = machine.infrastructure.as_ref().map(|infrastructure| match infrastructure {
        Infrastructure::MachinistMachine(vm) => vm_branch(vm, machine.node.as_deref(), now),
        Infrastructure::Missing(name) => Branch::leaf(format!("machinistmachine/{name}  is not there")),
        Infrastructure::Foreign(object) => Branch::leaf(format!("{object}, of another provider")),
    });
    Branch { line, notes, children: child.into_iter().collect() }
}

fn vm_branch(vm: &VmNode, node: Option<&str>, now: Timestamp) -> Branch {
    let mut line = format!("machinistmachine/{}  {}", vm.name, vm.state.as_str());
    if let Some(since) = vm.deletion_asked.or(vm.since) {
        line.push_str(&format!(" {}", age(since, now)));
    }
    if let Some(id) = &vm.provider_id {
        line.push_str(&format!("  VM {id}"));
    }
    if let Some(node) = node {
        line.push_str(&format!("  Node {node}"));
    }
    let mut notes = sentences(&vm.notes, now);
    if let Some(owner) = &vm.orphan_of {
        notes.push(format!("of {owner}, which is not there or names another object"));
    }
    Branch { line, notes, children: Vec::new() }
}

/// The reasons by which MachinistMachines are grouped.
fn vm_reasons(vm: &VmNode) -> String {
    vm.notes.iter().map(|note| note.reason.as_str()).collect::<Vec<_>>().join(", ")
}

/// The phase, and the deletion where the phase does not show it.
fn state(machine: &MachineNode) -> String {
    match machine.deletion_asked {
        Some(_) if !matches!(machine.state.as_str(), "Terminating" | "Deleting") => {
            format!("{}, being deleted", machine.state)
        }
        Some(_) | None => machine.state.clone(),
    }
}

/// The reasons by which Machines are grouped.
fn reasons(machine: &MachineNode) -> String {
    let notes = machine.notes.iter().map(|note| note.reason.as_str());
    let preserved = machine.preserved_until.map(|_| "preserved");
    let marked = machine.is_marked.then_some("goes first when its set gets smaller");
    let orphan = machine.orphan_of.as_ref().map(|_| "its owner is not there");
    let vm = machine.infrastructure.as_ref().and_then(|infrastructure| match infrastructure {
        Infrastructure::MachinistMachine(vm) => Some(vm_reasons(vm)).filter(|reasons| !reasons.is_empty()),
        Infrastructure::Missing(_) => Some("its MachinistMachine is not there".to_owned()),
        Infrastructure::Foreign(_) => None,
    });
    notes.chain(preserved).chain(marked).chain(orphan).chain(vm.as_deref()).collect::<Vec<_>>().join(", ")
}

fn sentences(notes: &[Note], now: Timestamp) -> Vec<String> {
    notes.iter().map(|note| sentence(note, now)).collect()
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
