//! Deployments that are created and scaled.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_deployment_makes_a_set_that_makes_its_machines() {
    let stage = stage();
    let _host = running(&stage, &pool(3)).await;
    let (deployment, sets) = (deployment(&stage), stage.api.all("machinesets"));
    assert_eq!(sets.len(), 1);
    let set = &sets[0];
    let hash = &set["metadata"]["labels"]["machine-template-hash"];
    assert!(hash.as_str().is_some_and(|hash| hash.parse::<u32>().is_ok()), "{set}");
    assert_eq!(
        set["spec"]["selector"]["matchLabels"],
        json!({ "name": "pool", "machine-template-hash": hash })
    );
    assert_eq!(
        set["spec"]["template"]["metadata"]["labels"],
        json!({ "name": "pool", "machine-template-hash": hash })
    );
    let owner = &set["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"]),
        (&json!("MachineDeployment"), &deployment["metadata"]["uid"])
    );
    assert_eq!((&owner["controller"], &owner["blockOwnerDeletion"]), (&json!(true), &json!(true)));
    let annotation =
        |key: &str| set["metadata"]["annotations"][format!("deployment.kubernetes.io/{key}")].clone();
    assert_eq!(
        (annotation("revision"), annotation("desired-replicas"), annotation("max-replicas")),
        (json!("1"), json!("3"), json!("4"))
    );
    assert_eq!(deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    let status = &deployment["status"];
    for count in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        assert_eq!(status[count], 3, "{count}");
    }
    assert_eq!(status["unavailableReplicas"], 0);
    assert_eq!(condition(&stage, "Progressing"), ("True".into(), "NewMachineSetAvailable".into()));
    assert_eq!(condition(&stage, "Available"), ("True".into(), "MinimumReplicasAvailable".into()));
    assert_tidy(&stage, 3);
    assert_quiet(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_scaled_up_and_down_and_says_so() {
    let stage = stage();
    let _host = running(&stage, &pool(1)).await;
    scale(&stage, 4);
    until_complete(&stage).await;
    assert_tidy(&stage, 4);
    scale(&stage, 2);
    until_complete(&stage).await;
    assert_tidy(&stage, 2);
    scale(&stage, 0);
    until_complete(&stage).await;
    assert_tidy(&stage, 0);
    let set = name_of(&stage.api.all("machinesets")[0]);
    let scalings: Vec<String> =
        stage.event_notes("pool").into_iter().filter(|note| note.starts_with("Scaled")).collect();
    let expected = [
        format!("Scaled up machine set {set} to 1"),
        format!("Scaled up machine set {set} to 4"),
        format!("Scaled down machine set {set} to 2"),
        format!("Scaled down machine set {set} to 0"),
    ];
    assert_eq!(scalings, expected);
    assert_quiet(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn settings_are_handed_on_without_a_rollout() {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    let before: Vec<String> = stage.api.all("machines").iter().map(name_of).collect();
    edit(
        &stage,
        &json!({ "spec": {
            "minReadySeconds": 500,
            "template": { "spec": {
                "drainTimeout": "7m",
                "nodeTemplate": { "metadata": { "labels": { "pool": null, "zone": "z" } } },
            } },
        } }),
    );
    tokio::time::sleep(30 * SECOND).await;
    let machines = stage.api.all("machines");
    assert_eq!(machines.iter().map(name_of).collect::<Vec<_>>(), before);
    for machine in &machines {
        assert_eq!(machine["spec"]["drainTimeout"], "7m0s");
        assert_eq!(machine["spec"]["nodeTemplate"]["metadata"]["labels"], json!({ "zone": "z" }));
    }
    let set = &stage.api.all("machinesets")[0];
    assert_eq!((&set["spec"]["minReadySeconds"], stage.api.count("machinesets")), (&json!(500), 1));
    assert_quiet(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn conditions_of_others_stay() {
    let stage = stage();
    let _host = running(&stage, &pool(1)).await;
    let mut conditions = deployment(&stage)["status"]["conditions"].as_array().cloned().unwrap();
    conditions.push(json!({ "type": "Theirs", "status": "True", "reason": "Because" }));
    let status = json!({ "status": { "conditions": conditions } });
    stage.api.edit_status("machinedeployments", &in_namespace("pool"), &status).unwrap();
    roll_to(&stage, "large");
    until_complete(&stage).await;
    assert_eq!(condition(&stage, "Theirs"), ("True".into(), "Because".into()));
}
