//! The kinds of Cluster API.

use expect_test::expect;
use serde_json::{Value, json};

use super::{check, now, objects, parsed};
use crate::testing::merged;
use crate::tree::grow::grow;
use crate::tree::objects::{ClusterApiObjects, Objects};
use crate::tree::pick::{Subject, pick};
use crate::tree::print::text;

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:58:00Z",
    })
}

fn owned_by(kind: &str, name: &str) -> Value {
    json!([{
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "name": name, "uid": name, "controller": true,
    }])
}

fn cluster(name: &str, more: &Value) -> Value {
    let value = json!({
        "metadata": { "name": name, "uid": name },
        "status": { "phase": "Provisioned", "initialization": { "infrastructureProvisioned": true } },
    });
    merged(value, more)
}

/// A MachineDeployment `pool` of Cluster `c`.
fn deployment(wanted: i32, more: &Value) -> Value {
    let value = json!({
        "metadata": {
            "name": "pool", "uid": "pool", "generation": 3,
            "annotations": { "machinedeployment.clusters.x-k8s.io/revision": "2" },
        },
        "spec": { "clusterName": "c", "replicas": wanted, "rollout": { "strategy": { "type": "RollingUpdate" } } },
        "status": { "observedGeneration": 3 },
    });
    merged(value, more)
}

/// A MachineSet of it, called by its template.
fn set(template: &str, revision: i32, wanted: i32, more: &Value) -> Value {
    let value = json!({
        "metadata": {
            "name": format!("pool-{template}"), "uid": format!("pool-{template}"),
            "ownerReferences": owned_by("MachineDeployment", "pool"),
            "annotations": { "machinedeployment.clusters.x-k8s.io/revision": revision.to_string() },
        },
        "spec": {
            "clusterName": "c", "replicas": wanted,
            "template": { "spec": { "infrastructureRef": {
                "apiGroup": "infrastructure.machinist.dev", "kind": "MachinistMachineTemplate", "name": template,
            } } },
        },
    });
    merged(value, more)
}

/// A Machine of a set, with a MachinistMachine of the same name.
fn machine(set: &str, number: usize, phase: &str, more: &Value) -> Value {
    let name = format!("{set}-{number}");
    let value = json!({
        "metadata": {
            "name": name, "uid": name, "ownerReferences": owned_by("MachineSet", set),
            "creationTimestamp": format!("2026-01-01T00:00:{number:02}Z"),
        },
        "spec": {
            "clusterName": "c",
            "infrastructureRef": {
                "apiGroup": "infrastructure.machinist.dev", "kind": "MachinistMachine", "name": name,
            },
        },
        "status": { "phase": phase, "lastUpdated": "2026-01-01T00:50:00Z" },
    });
    merged(value, more)
}

fn joined(number: usize) -> Value {
    json!({ "spec": { "providerID": format!("sim:///{number}") }, "status": { "nodeRef": { "name": format!("n{number}") } } })
}

fn vm(name: &str, more: &Value) -> Value {
    let value = json!({ "metadata": { "name": name, "creationTimestamp": "2026-01-01T00:49:00Z" } });
    merged(value, more)
}

fn provided(id: &str) -> Value {
    json!({
        "spec": { "providerID": format!("sim:///{id}") },
        "status": {
            "initialization": { "provisioned": true },
            "conditions": [condition("Ready", "True", "InstanceRunning", "the VM runs")],
        },
    })
}

fn waits(reason: &str, message: &str) -> Value {
    json!({ "status": { "conditions": [condition("Ready", "False", reason, message)] } })
}

fn both(cluster_api: ClusterApiObjects) -> Objects {
    Objects { cluster_api: Some(cluster_api), ..objects(vec![], vec![], vec![]) }
}

/// Half of a rollout, with a control plane of another provider.
fn rollout() -> ClusterApiObjects {
    let control_plane = json!({
        "metadata": { "name": "cp-1", "ownerReferences": owned_by("KubeadmControlPlane", "cp") },
        "spec": { "infrastructureRef": { "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": "cp-1" } },
    });
    let old = "pool-small";
    ClusterApiObjects {
        clusters: parsed(vec![cluster("c", &json!({}))]),
        deployments: parsed(vec![deployment(3, &json!({}))]),
        sets: parsed(vec![set("small", 1, 2, &json!({})), set("large", 2, 1, &json!({}))]),
        machines: parsed(vec![
            machine(old, 1, "Running", &joined(1)),
            machine(old, 2, "Running", &joined(2)),
            machine("pool-large", 1, "Pending", &json!({})),
            machine("x", 1, "Running", &control_plane),
        ]),
        machinist_machines: parsed(vec![
            vm("pool-small-1", &provided("1")),
            vm("pool-small-2", &provided("2")),
            vm("pool-large-1", &waits("WaitingForBootstrapData", "the Machine has no\n bootstrap data yet")),
            vm("left-over", &json!({ "metadata": { "ownerReferences": owned_by("Machine", "gone") } })),
        ]),
    }
}

#[test]
fn a_cluster_shows_its_deployments_down_to_the_vms() {
    check(
        &both(rollout()),
        &expect![[r#"
        cluster/c  provisioned
        ├─ kubeadmcontrolplane/cp
        │  └─ machine/cp-1  Running 10m0s
        │     └─ AWSMachine cp-1, of another provider
        └─ machinedeployment/pool  rolling: 1 of 3 updated, 2 available, 3 there; revision 2; RollingUpdate
           ├─ machineset/pool-large  new  revision 2  template large  1 wanted, 0 available
           │  └─ machine/pool-large-1  Pending 10m0s
           │     └─ machinistmachine/pool-large-1  Pending 11m0s
           │           WaitingForBootstrapData (2m0s): the Machine has no bootstrap data yet
           └─ machineset/pool-small  old  revision 1  template small  2 wanted, 2 available
              └─ 2 × Running

        MachinistMachines without a Machine
        └─ machinistmachine/left-over  Pending 11m0s
              of Machine gone, which is not there or names another object
    "#]],
    );
}

#[test]
fn a_machine_alone_shows_its_vm_and_its_node() {
    let mut all = rollout();
    all.machines.truncate(1);
    all.sets.truncate(1);
    all.machinist_machines.truncate(1);
    all.clusters = parsed(vec![cluster("c", &json!({ "spec": { "paused": true } }))]);
    check(
        &both(all),
        &expect![[r#"
            cluster/c  paused
            └─ machinedeployment/pool  paused: 0 of 3 updated, 1 available, 1 there; revision 2; RollingUpdate
               └─ machineset/pool-small  old  revision 1  template small  2 wanted, 1 available
                  └─ machine/pool-small-1  Running 10m0s
                     └─ machinistmachine/pool-small-1  Provisioned 2m0s  VM sim:///1  Node n1
        "#]],
    );
}

#[test]
fn what_is_missing_or_leaves_is_said_where_it_hangs() {
    let leaving = json!({
        "metadata": { "deletionTimestamp": "2026-01-01T00:59:00Z" },
        "status": { "conditions": [condition("Deleting", "True", "DrainingNode", "one pod")] },
    });
    let gone = json!({ "metadata": { "ownerReferences": owned_by("MachineSet", "gone") } });
    let unprovisioned = json!({
        "status": {
            "initialization": null,
            "conditions": [condition("InfrastructureReady", "False", "CredentialsMissing", "create it")],
        },
    });
    let paused =
        json!({ "status": { "conditions": [condition("Paused", "True", "Paused", "Cluster c is paused")] } });
    let all = ClusterApiObjects {
        clusters: parsed(vec![cluster("c", &unprovisioned)]),
        deployments: parsed(vec![deployment(1, &json!({ "spec": { "clusterName": "other" } }))]),
        sets: parsed(vec![set("large", 0, 1, &json!({ "metadata": { "ownerReferences": null } }))]),
        machines: parsed(vec![
            machine("pool-large", 1, "Deleting", &leaving),
            machine("pool-large", 2, "Provisioning", &json!({})),
            machine("gone", 1, "Running", &gone),
        ]),
        machinist_machines: parsed(vec![
            vm("pool-large-1", &merged(provided("1"), &paused)),
            vm("gone-1", &provided("2")),
        ]),
    };
    check(
        &both(all),
        &expect![[r#"
        cluster/c  has no infrastructure yet
        │  CredentialsMissing (2m0s): create it
        ├─ machineset/pool-large  without a MachineDeployment  template large  1 wanted, 0 available
        │  ├─ machine/pool-large-1  Deleting 1m0s
        │  │  │  DrainingNode (2m0s): one pod
        │  │  └─ machinistmachine/pool-large-1  Paused 2m0s  VM sim:///1
        │  │        Paused (2m0s): Cluster c is paused
        │  └─ machine/pool-large-2  Provisioning 10m0s
        │     └─ machinistmachine/pool-large-2  is not there
        └─ Machines without a MachineSet
           └─ machine/gone-1  Running 10m0s
              │  of MachineSet gone, which is not there
              └─ machinistmachine/gone-1  Provisioned 2m0s  VM sim:///2

        cluster/other  is not there
        └─ machinedeployment/pool  rolling: 0 of 1 updated, 0 available, 0 there; revision 2; RollingUpdate
    "#]],
    );
}

#[test]
fn equal_machines_that_wait_are_counted_beyond_the_first() {
    let late = waits("InsufficientCapacity", "no more");
    let all = ClusterApiObjects {
        clusters: parsed(vec![cluster("c", &json!({}))]),
        deployments: parsed(vec![deployment(9, &json!({}))]),
        sets: parsed(vec![set("large", 2, 9, &json!({}))]),
        machines: parsed(
            (1..=9).map(|number| machine("pool-large", number, "Provisioning", &json!({}))).collect(),
        ),
        machinist_machines: parsed(
            (1..=9).map(|number| vm(&format!("pool-large-{number}"), &late)).collect(),
        ),
    };
    check(
        &both(all),
        &expect![[r#"
        cluster/c  provisioned
        └─ machinedeployment/pool  scaling: 9 of 9 updated, 0 available, 9 there; revision 2; RollingUpdate
           └─ machineset/pool-large  new  revision 2  template large  9 wanted, 0 available
              ├─ machine/pool-large-1  Provisioning 10m0s
              │  └─ machinistmachine/pool-large-1  Pending 11m0s
              │        InsufficientCapacity (2m0s): no more
              ├─ machine/pool-large-2  Provisioning 10m0s
              │  └─ machinistmachine/pool-large-2  Pending 11m0s
              │        InsufficientCapacity (2m0s): no more
              ├─ machine/pool-large-3  Provisioning 10m0s
              │  └─ machinistmachine/pool-large-3  Pending 11m0s
              │        InsufficientCapacity (2m0s): no more
              └─ and 6 more × Provisioning: InsufficientCapacity
    "#]],
    );
}

#[test]
fn both_apis_stand_one_below_the_other_and_what_may_not_be_read_is_one_line() {
    let own = objects(vec![super::deployment("large", 1, &json!({}))], vec![], vec![]);
    let few = ClusterApiObjects {
        clusters: parsed(vec![cluster("c", &json!({}))]),
        ..ClusterApiObjects::default()
    };
    check(
        &Objects { cluster_api: Some(few), ..own },
        &expect![[r#"
        machinedeployment/workers  rolling: 0 of 1 updated, 0 available, 0 there; RollingUpdate

        cluster/c  provisioned
    "#]],
    );
    let own = objects(vec![super::deployment("large", 1, &json!({}))], vec![], vec![]);
    let left_out = Some("The objects of Cluster API's kinds are left out: ask".to_owned());
    check(
        &Objects { left_out, ..own },
        &expect![[r#"
            machinedeployment/workers  rolling: 0 of 1 updated, 0 available, 0 there; RollingUpdate

            The objects of Cluster API's kinds are left out: ask
        "#]],
    );
    check(
        &both(ClusterApiObjects::default()),
        &expect![[r#"
        No MachineDeployments, MachineSets, Machines, Clusters or MachinistMachines in namespace team: choose another with -n.
    "#]],
    );
}

#[test]
fn one_tree_of_either_api_is_shown_alone() {
    let shown =
        |subject: Subject| pick(grow(&both(rollout()), "team"), &subject).map(|forest| text(&forest, now()));
    let named = |name: &str| name.to_owned();
    expect![[r#"
        cluster/c  provisioned
        └─ machineset/pool-small  old  revision 1  template small  2 wanted, 2 available
           └─ 2 × Running
    "#]]
    .assert_eq(&shown(Subject::CoreSet(named("pool-small"))).unwrap());
    let pool = shown(Subject::CoreDeployment(named("pool"))).unwrap();
    assert!(pool.contains("machinedeployment/pool") && !pool.contains("kubeadmcontrolplane"), "{pool}");
    assert_eq!(shown(Subject::Any(named("pool"))).unwrap(), pool);
    let whole = shown(Subject::Cluster(named("c"))).unwrap();
    assert!(whole.contains("kubeadmcontrolplane/cp") && !whole.contains("left-over"), "{whole}");
    let fails = |subject: Subject, part: &str| {
        let said = shown(subject).unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    };
    fails(Subject::Deployment(named("pool")), "write machinedeployments.cluster.x-k8s.io/pool");
    fails(Subject::Set(named("pool-small")), "write machinesets.cluster.x-k8s.io/pool-small");
    fails(Subject::CoreDeployment(named("poo")), "did you mean pool?");
    fails(Subject::Cluster(named("d")), "there is no Cluster d in namespace team");
    fails(Subject::Any(named("x")), "there is no MachineDeployment x in namespace team");
}

#[test]
fn a_tree_of_cluster_api_needs_its_kinds_and_rights() {
    let alone = |left_out: Option<&str>| {
        let left_out = left_out.map(str::to_owned);
        let all = Objects { left_out, ..objects(vec![], vec![], vec![]) };
        pick(grow(&all, "team"), &Subject::Cluster("c".to_owned())).unwrap_err().to_string()
    };
    assert!(alone(None).contains("install the CRDs of deploy/clusterctl/crds"), "{}", alone(None));
    assert_eq!(alone(Some("ask for rights")), "ask for rights");
}

#[test]
fn programs_get_both_apis() {
    let json = serde_json::to_value(grow(&both(rollout()), "team")).unwrap();
    let cluster = &json["clusterApi"]["clusters"][0];
    assert_eq!(cluster["deployments"][0]["rollout"]["state"], "rolling");
    let vm = &cluster["deployments"][0]["sets"][1]["machines"][0]["infrastructure"]["machinistMachine"];
    assert_eq!((&vm["state"], &vm["providerID"]), (&json!("Provisioned"), &json!("sim:///1")));
    assert_eq!(json["clusterApi"]["machinistMachines"][0]["name"], "left-over");
    let own = serde_json::to_value(grow(&objects(vec![], vec![], vec![]), "team")).unwrap();
    assert!(own.get("clusterApi").is_none(), "as without Cluster API: {own}");
}
