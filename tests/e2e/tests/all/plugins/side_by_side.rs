//! Several drivers in one host, several versions of one, and classes that pin theirs.

use anyhow::{Context, Result, ensure};
use e2e::{Host, Lab, LabOptions, manifests};
use k8s_openapi::api::core::v1::ConfigMap;
use machinist_api::MachineClass;
use machinist_api::names::annotations::DRIVER_DIGEST;
use machinist_api::names::labels::PLUGIN_NAME;
use serde_json::json;

use crate::scene::{HOSTILE, delete_plugin, installed, is_gone, is_running, patch_class, soon};

/// A version of the driver of the simulated cloud, as one more ConfigMap of the plugin `sim`.
struct Version {
    map: ConfigMap,
    digest: String,
}

impl Version {
    /// The ConfigMap is called `sim-` and the version.
    fn build(lab: &Lab, version: &str) -> Result<Self> {
        let component = guests::bytes_with("sim-driver", "SIM_DRIVER_VERSION", version)?;
        let mut map = manifests::plugin(&format!("sim-{version}"), &component, &lab.cloud.url())?;
        map.metadata.labels.get_or_insert_default().insert(PLUGIN_NAME.into(), "sim".into());
        let digest = map.data.as_ref().and_then(|data| data.get("sha256")).context("it has a digest")?;
        let digest = format!("sha256:{digest}");
        Ok(Self { map, digest })
    }

    async fn install(&self, lab: &Lab) -> Result<()> {
        lab.put_plugin(&self.map).await?;
        lab.plugin_state(self.map.metadata.name.as_deref().context("it has a name")?, "Ready").await
    }
}

fn pinned(name: &str, digest: &str) -> MachineClass {
    let mut class = manifests::class(name, "sim");
    class.metadata.annotations.get_or_insert_default().insert(DRIVER_DIGEST.into(), digest.into());
    class
}

/// Calls that ended well, of an operation, answered from one ConfigMap.
async fn calls(host: &Host, source: &str, operation: &str) -> Result<f64> {
    let source = format!("source=\"{}/{source}\"", manifests::NAMESPACE);
    let operation = format!("operation=\"{operation}\"");
    let labels = ["outcome=\"ok\"", &source, &operation];
    Ok(host.metrics().await?.sum("machinist_plugin_calls_total", &labels))
}

#[tokio::test]
async fn two_versions_and_two_drivers_serve_in_one_host_and_each_class_gets_its_own() {
    installed(LabOptions::default(), async |lab, host| {
        let [one, two] = [Version::build(lab, "1.0.0")?, Version::build(lab, "2.0.0")?];
        one.install(lab).await?;
        two.install(lab).await?;
        // A driver of another provider, which makes machines and never finds them, so that they can go.
        let settings = json!({ "providers": ["other"] });
        lab.put_plugin(&manifests::plugin_granted("other", &HOSTILE, &settings, &json!({}))?).await?;
        lab.plugin_state("other", "Ready").await?;
        let spec = json!({ "do": "fail", "code": "not-found", "in": ["get-status"] });
        lab.put_class(&manifests::class_of("other", "sim", "OTHER", &spec)).await?;
        lab.put_class(&pinned("one", &one.digest)).await?;
        lab.put_class(&pinned("two", &two.digest)).await?;

        let machines = [("one", 3), ("two", 2), ("small", 1)];
        for (class, count) in machines {
            for number in 0..count {
                lab.create_machine(&format!("{class}-{number}"), class).await?;
            }
        }
        lab.create_machine("other", "other").await?;
        for (class, count) in machines {
            for number in 0..count {
                is_running(lab, &format!("{class}-{number}")).await?;
            }
        }
        soon("the other driver makes its machine", async || {
            Ok(lab.machines().get("other").await?.provider_id().map(drop))
        })
        .await?;

        ensure!(calls(host, "sim-1.0.0", "CreateMachine").await? == 3.0, "{:?}", all(host).await?);
        // Unpinned, the newest version serves: 2 and 1.
        ensure!(calls(host, "sim-2.0.0", "CreateMachine").await? == 3.0, "{:?}", all(host).await?);
        ensure!(calls(host, "sim", "CreateMachine").await? == 0.0, "{:?}", all(host).await?);
        ensure!(calls(host, "other", "CreateMachine").await? == 1.0, "{:?}", all(host).await?);
        ensure!(lab.cloud.stats().created == 6, "one VM each: {:?}", lab.cloud.stats());

        lab.delete_machine("one-0").await?;
        is_gone(lab, "one-0").await?;
        ensure!(calls(host, "sim-1.0.0", "DeleteMachine").await? >= 1.0, "{:?}", all(host).await?);
        ensure!(calls(host, "sim-2.0.0", "DeleteMachine").await? == 0.0, "{:?}", all(host).await?);
        Ok(())
    })
    .await;
}

async fn all(host: &Host) -> Result<Vec<String>> {
    let metrics = host.metrics().await?;
    let samples = metrics.matching("machinist_plugin_calls_total", &[]);
    Ok(samples.map(|(labels, value)| format!("{labels} {value}")).collect())
}

#[tokio::test]
async fn a_pinned_version_is_awaited_and_its_machines_go_also_without_it() {
    installed(LabOptions::default(), async |lab, host| {
        let version = Version::build(lab, "1.0.0")?;
        lab.put_class(&pinned("pinned", &version.digest)).await?;
        lab.create_machine("a", "pinned").await?;
        let waits = format!("no driver for sim has digest {}, which the class pins", version.digest);
        let condition = lab.machine_reason("a", "DriverNotReady", &waits).await?;
        ensure!(
            condition.message.contains("loaded: sha256:"),
            "it says what is there: {}",
            condition.message
        );
        lab.event("Machine", "a", "DriverNotReady", &waits).await?;
        ensure!(lab.cloud.stats().created == 0, "nothing is made by another version");

        version.install(lab).await?;
        soon("the Machine goes on at once", async || {
            Ok(lab.machines().get("a").await?.provider_id().map(drop))
        })
        .await?;
        is_running(lab, "a").await?;
        ensure!(calls(host, "sim-1.0.0", "CreateMachine").await? == 1.0, "{:?}", all(host).await?);

        delete_plugin(lab, "sim-1.0.0").await?;
        lab.delete_machine("a").await?;
        is_gone(lab, "a").await?;
        ensure!(calls(host, "sim", "DeleteMachine").await? >= 1.0, "{:?}", all(host).await?);
        let said = lab.events("Machine", "a").await?;
        let by_whom = "the version that serves removes the VM: no driver for sim has digest";
        ensure!(said.iter().any(|event| event.contains(by_whom)), "{said:#?}");

        lab.put_class(&pinned("wrong", "sha256:12")).await?;
        lab.create_machine("b", "wrong").await?;
        lab.machine_reason("b", "ClassInvalid", "is not a sha256 digest of 64 hex digits").await?;
        patch_class(lab, "wrong", &json!({ "metadata": { "annotations": { DRIVER_DIGEST: null } } })).await?;
        is_running(lab, "b").await.map(drop)
    })
    .await;
}
