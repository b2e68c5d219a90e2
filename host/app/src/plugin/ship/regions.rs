//! The regions that grants speak of as `{region}`: those that the command names, else those of the classes in the
//! cluster.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail, ensure};
use kube::api::ListParams;
use kube::{Api, Client};
use machinist_api::MachineClass;
use machinist_plugin_host::{Grants, REGION, is_region_name, regions_of};
use serde_yaml_ng::{Mapping, Value};

use crate::args::ClusterFlags;
use crate::cluster::client_of;

/// The grants with the regions in their place. `named` are those of `--region`; without them, and where the text needs
/// some and names none, the classes of the cluster are asked.
pub(crate) async fn filled(
    text: String,
    named: &[String],
    cluster: Option<&ClusterFlags>,
) -> anyhow::Result<String> {
    // The host reports grants that cannot be read.
    let Some((is_needed, there)) = regions_of(&text) else { return Ok(text) };
    if !named.is_empty() {
        ensure!(is_needed, "--region fills in {REGION}, and the grants do not say that");
        return with_regions(&text, &named.iter().cloned().collect());
    }
    if !is_needed || !there.is_empty() {
        return Ok(text);
    }
    let found = match (providers_of(&text), cluster) {
        (Some(providers), Some(cluster)) => of_classes(&providers, cluster).await?,
        (None, _) | (_, None) => BTreeSet::new(),
    };
    if found.is_empty() {
        bail!(
            "the grants say {REGION}, and no class says which regions that means: name each with --region, or write \
             `regions: [NAME]` into the grants"
        );
    }
    let names = found.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    eprintln!("regions of the classes, which the grants name from here on: {names} (--region names others)");
    with_regions(&text, &found)
}

/// Which providers the operator says that the plugin serves: classes of others are nothing to it.
fn providers_of(text: &str) -> Option<BTreeSet<String>> {
    let document: Value = serde_yaml_ng::from_str(text).ok()?;
    let names = document.get("providers")?.as_sequence()?;
    Some(names.iter().filter_map(Value::as_str).map(str::to_lowercase).collect())
}

async fn of_classes(
    providers: &BTreeSet<String>,
    cluster: &ClusterFlags,
) -> anyhow::Result<BTreeSet<String>> {
    let client = client_of(&cluster.access).await?;
    let classes = classes(&client, &cluster.namespace).await.context(
        "failed to look for the regions of the classes: name each region with --region, which asks nobody",
    )?;
    Ok(regions(providers, &classes))
}

/// Those of the whole cluster, or of the namespace for those who may not see more.
async fn classes(client: &Client, namespace: &str) -> kube::Result<Vec<MachineClass>> {
    let all: Api<MachineClass> = Api::all(client.clone());
    match all.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) if status.code == 403 => {
            let here: Api<MachineClass> = Api::namespaced(client.clone(), namespace);
            Ok(here.list(&ListParams::default()).await?.items)
        }
        // Without the kind there are no classes.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        other => Ok(other?.items),
    }
}

/// A class is written by others than the operator: what is no region's name does not come near a host's.
fn regions(providers: &BTreeSet<String>, classes: &[MachineClass]) -> BTreeSet<String> {
    let of_provider = classes.iter().filter(|class| {
        class.provider.as_ref().is_some_and(|provider| providers.contains(&provider.trim().to_lowercase()))
    });
    let specs = of_provider.filter_map(|class| class.provider_spec.as_ref()?.as_object());
    let values = specs.flat_map(|spec| spec.iter().filter(|(key, _)| key.eq_ignore_ascii_case("region")));
    let names = values.filter_map(|(_, value)| value.as_str());
    names.filter(|name| is_region_name(name)).map(str::to_owned).collect()
}

/// The text with this list, and everything else as it was where that can be done line by line.
fn with_regions(text: &str, regions: &BTreeSet<String>) -> anyhow::Result<String> {
    if let Some(wrong) = regions.iter().find(|name| !is_region_name(name)) {
        bail!("{wrong:?} is no region: small letters, digits and - only, such as eu-west-1");
    }
    let names = regions.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let kept = text.lines().filter(|line| !line.starts_with("regions:"));
    let by_line =
        std::iter::once(format!("regions: [{names}]").as_str()).chain(kept).collect::<Vec<_>>().join("\n")
            + "\n";
    if regions_of(&by_line).is_some_and(|(_, read)| read == *regions) && Grants::parse(&by_line).is_ok() {
        return Ok(by_line);
    }
    let mut document: Mapping =
        serde_yaml_ng::from_str(text).context("failed to read the grants as a mapping")?;
    let list = regions.iter().map(|region| Value::from(region.as_str())).collect();
    document.insert(Value::from("regions"), Value::Sequence(list));
    Ok(serde_yaml_ng::to_string(&document)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GRANTS: &str =
        "# A comment.\nproviders: [AWS]\negress:\n- host: ec2.{region}.amazonaws.com # each\n";

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_list_is_the_first_line_and_the_rest_stays() {
        let first = with_regions(GRANTS, &set(&["us-east-1", "eu-west-1"])).unwrap();
        assert_eq!(first, format!("regions: [eu-west-1, us-east-1]\n{GRANTS}"));
        assert_eq!(
            with_regions(&first, &set(&["eu-west-1"])).unwrap(),
            format!("regions: [eu-west-1]\n{GRANTS}")
        );
        assert_eq!(Grants::parse(&first).unwrap().egress().len(), 2);
    }

    #[test]
    fn another_spelling_of_the_document_gets_its_list_too() {
        for text in [
            r#"{"egress": [{"host": "a.{region}.example.com"}]}"#,
            "---\negress: [{ host: 'a.{region}.example.com' }]\n",
            "regions:\n- old\negress: [{ host: 'a.{region}.example.com' }]\n",
        ] {
            let filled = with_regions(text, &set(&["x-1"])).unwrap();
            assert_eq!(regions_of(&filled), Some((true, set(&["x-1"]))), "{filled}");
            assert_eq!(Grants::parse(&filled).unwrap().egress()[0].host().to_string(), "a.x-1.example.com");
        }
    }

    #[test]
    fn attack_a_class_cannot_lead_to_a_bucket_or_another_domain() {
        let class = |provider: &str, spec: serde_json::Value| MachineClass {
            provider: Some(provider.to_owned()),
            provider_spec: Some(spec),
            ..MachineClass::default()
        };
        let classes = [
            class("AWS", json!({ "region": "eu-west-1" })),
            class("AWS", json!({ "Region": "us-east-1" })),
            class("AWS", json!({ "region": "s3" })),
            class("AWS", json!({ "region": "x.attacker.example#" })),
            class("AWS", json!({ "region": "{region}" })),
            class("AWS", json!({ "region": ["eu-west-2"] })),
            class("evilcloud", json!({ "region": "eu-west-3" })),
        ];
        assert_eq!(regions(&set(&["aws"]), &classes), set(&["eu-west-1", "us-east-1"]));
        // A valid name that is no region of this cloud is refused by the push, as by the host.
        let invalid = with_regions(GRANTS, &set(&["dualstack"])).unwrap();
        assert!(Grants::parse(&invalid).unwrap_err().to_string().contains("no region of the cloud"));
    }

    #[tokio::test]
    async fn who_names_regions_is_asked_first_and_nobody_where_none_are_needed() {
        let plain = "egress: [{ host: a.example.com }]";
        assert_eq!(filled(plain.to_owned(), &[], None).await.unwrap(), plain);
        assert!(filled(plain.to_owned(), &["a".to_owned()], None).await.is_err());
        let named = filled(GRANTS.to_owned(), &["eu-west-1".to_owned()], None).await.unwrap();
        assert!(named.starts_with("regions: [eu-west-1]\n"), "{named}");
        assert_eq!(filled(named.clone(), &[], None).await.unwrap(), named);
        let error = filled(GRANTS.to_owned(), &[], None).await.unwrap_err().to_string();
        assert!(error.contains("--region"), "{error}");
        assert!(filled(GRANTS.to_owned(), &["S3".to_owned()], None).await.is_err());
    }
}
