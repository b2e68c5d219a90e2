//! The output of `kubectl get`, and the effect of `kubectl scale`.

use anyhow::{Context, Result, ensure};
use http::Request;
use http::header::ACCEPT;
use kube::Client;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{NAMESPACE, objects::valid, objects_of};

/// The table that `kubectl get` asks for: its columns, those of `-o wide` in brackets, and one line for each object.
async fn table(client: &Client, plural: &str) -> Result<Vec<String>> {
    let url = format!("/apis/machine.sapcloud.io/v1alpha1/namespaces/{NAMESPACE}/{plural}");
    let request =
        Request::get(url).header(ACCEPT, "application/json;as=Table;v=v1;g=meta.k8s.io").body(Vec::new())?;
    let table: Value = client.request(request).await?;
    let columns = table["columnDefinitions"].as_array().context("a table has columns")?;
    let name = |column: &Value| {
        let name = column["name"].as_str().unwrap_or_default();
        if column["priority"] == 0 { name.to_owned() } else { format!("({name})") }
    };
    let mut lines = vec![columns.iter().map(name).collect::<Vec<_>>().join(" ")];
    for row in table["rows"].as_array().into_iter().flatten() {
        let cell = |cell: &Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
        let cells = row["cells"].as_array().into_iter().flatten().zip(columns);
        // How old it is depends on when one looks.
        let row =
            cells.map(|(value, column)| if column["name"] == "Age" { "age".into() } else { cell(value) });
        lines.push(row.collect::<Vec<String>>().join(" "));
    }
    Ok(lines)
}

async fn put(client: &Client, kind: &str, spec: Value, labels: Value, status: Value) -> Result<()> {
    let mut object = valid(kind);
    object["metadata"]["labels"] = labels;
    for (field, value) in spec.as_object().into_iter().flatten() {
        object["spec"][field] = value.clone();
    }
    let api = objects_of(client, kind);
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    api.patch_status("workers", &PatchParams::default(), &Patch::Merge(json!({ "status": status }))).await?;
    Ok(())
}

/// `kubectl get` shows the columns that users know.
pub(super) async fn columns(client: &Client) -> Result<()> {
    let none = json!({});
    let status = json!({ "currentStatus": { "phase": "Running" } });
    put(client, "Machine", json!({ "providerID": "sim:///1" }), json!({ "node": "n1" }), status).await?;
    let status = json!({ "replicas": 4, "readyReplicas": 2, "availableReplicas": 3 });
    put(client, "MachineSet", json!({ "replicas": 5 }), none.clone(), status).await?;
    let status = json!({ "replicas": 6, "readyReplicas": 2, "availableReplicas": 3, "updatedReplicas": 1 });
    put(client, "MachineDeployment", json!({ "replicas": 5 }), none, status).await?;
    let class = serde_json::from_value(valid("MachineClass"))?;
    objects_of(client, "MachineClass").create(&PostParams::default(), &class).await?;
    for (plural, expected) in [
        ("machines", ["Name Status Age Node (ProviderID)", "workers Running age n1 sim:///1"]),
        ("machineclasses", ["Name Age", "workers age"]),
        ("machinesets", ["Name Desired Current Ready Age", "workers 5 4 2 age"]),
        ("machinedeployments", ["Name Ready Desired Up-to-date Available Age", "workers 2 5 1 3 age"]),
    ] {
        let shown = table(client, plural).await?;
        ensure!(shown == expected, "{plural}: {shown:#?}");
    }
    Ok(())
}

/// `kubectl scale` changes sets and deployments.
pub(super) async fn scale(client: &Client) -> Result<()> {
    for kind in ["MachineSet", "MachineDeployment"] {
        let api = objects_of(client, kind);
        let before = api.get_scale("workers").await?;
        let (spec, status) = (before.spec.unwrap_or_default(), before.status.unwrap_or_default());
        ensure!(spec.replicas == Some(5) && status.replicas > 0, "{spec:?} {status:?}");
        ensure!(status.selector.is_none(), "as with machine-controller-manager, no selector: {status:?}");
        for replicas in [3, 0] {
            let patch = json!({ "spec": { "replicas": replicas } });
            let after = api.patch_scale("workers", &PatchParams::default(), &Patch::Merge(&patch)).await?;
            ensure!(
                after.spec.and_then(|spec| spec.replicas).unwrap_or(0) == replicas,
                "{kind} takes {replicas}"
            );
            ensure!(api.get("workers").await?.data["spec"]["replicas"] == replicas, "and so does the object");
        }
        let below = Patch::Merge(json!({ "spec": { "replicas": -1 } }));
        let refused = api.patch_scale("workers", &PatchParams::default(), &below).await;
        ensure!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 422), "{refused:?}");
    }
    Ok(())
}
