//! `machinist plugin push`: a component from a file into a cluster, and what the host makes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal as _;

use anyhow::{Context as _, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use machinist_artifacts::{Bundle, Reference, SigningKey};
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::component::Contract;
use machinist_plugin_host::parts::Index;
use machinist_plugin_host::{About, Encoding, Grants, Inspected, Packed, component};
use serde_json::json;

use crate::args::{EncodingName, PushFlags};
use crate::plugin::cluster::{ATTEMPTS, config_maps, explained, list, patch_version, raw};
use crate::plugin::file::{Component, Texts, declared, may_load};
use crate::plugin::ship::bundle::Signing;
use crate::plugin::ship::grants::{self, Consent, Missing, WISHED_ANNOTATION};
use crate::plugin::ship::ownership::{MANAGER, taken_over, written_by_us};
use crate::plugin::ship::plan::{Plan, PushRequest, in_the_way, plan};
use crate::plugin::ship::regions as plugin_regions;
use crate::plugin::ship::registry::{Artifact, signing_key};
use crate::plugin::ship::wait::wait;

pub(crate) async fn push(flags: PushFlags) -> anyhow::Result<()> {
    let mut texts = Texts::read(flags.settings.as_deref(), flags.grants.as_deref(), flags.policy.as_deref())?
        .with_rollout(flags.rollout.as_deref())?;
    if let Some(grants) = texts.grants.take() {
        let cluster = (flags.configmap.is_some() && !flags.dry_run).then_some(&flags.cluster);
        texts.grants = Some(plugin_regions::filled(grants, &flags.region, cluster).await?);
    }
    let component = Component::read(&flags.file)?;
    let key = flags.sign.as_deref().map(signing_key).transpose()?;
    let signing = Signing { key: key.as_ref(), counter: flags.counter.counter };
    let artifact = Artifact::of(&flags.registry).await?;
    // Without a ConfigMap it has no name but that of its repository.
    let repository =
        artifact.as_ref().map(|artifact| artifact.reference.repository.clone()).unwrap_or_default();
    let name = flags.configmap.as_deref().unwrap_or(&repository);
    // Obvious errors are reported before anything is packed or requested.
    let unpacked = Packed::whole(Encoding::None, component.bytes.clone());
    declared(name, unpacked.clone(), &texts).context("the host would refuse it")?;
    let contract = Contract::of(&component.bytes);
    component::inspect(&component.bytes, contract)
        .context("the host would refuse it: failed to verify the component")?;
    let placed = match &artifact {
        Some(artifact) if flags.dry_run => Some(artifact.reference.clone()),
        Some(artifact) => {
            let inspected = may_load(declared(name, unpacked.clone(), &texts)?).await?;
            let bundle = match (&key, &flags.plugin_name, &flags.configmap) {
                (Some(_), Some(name), None) => {
                    let declared = declared(name, unpacked.clone(), &texts)?;
                    Some(signing.bundle(&declared, &inspected, BTreeSet::new())?)
                }
                (Some(_), None, None) => {
                    eprintln!(
                        "note: the component alone is signed. Hosts that require signatures want a bundle as well: name the \
                         plugin with --plugin-name, and give its grants and settings, or sign the ConfigMap that names it"
                    );
                    None
                }
                (_, _, _) => None,
            };
            Some(bring(artifact, &component, contract, (key.as_ref(), bundle)).await?)
        }
        None => None,
    };
    if flags.configmap.is_none() {
        if flags.dry_run {
            may_load(declared(name, unpacked, &texts)?).await?;
            println!(
                "would push {}",
                flags.registry.oci.as_ref().map(ToString::to_string).unwrap_or_default()
            );
        }
        return Ok(());
    }
    let encoding = match flags.encoding {
        EncodingName::Zstd => Encoding::Zstd,
        EncodingName::Gzip => Encoding::Gzip,
        EncodingName::None => Encoding::None,
    };
    let packed = encoding.pack(&component.bytes).context("failed to pack the component")?;
    eprintln!("{}: {} bytes, {} with {encoding}", component.digest, component.bytes.len(), packed.len());
    let request = PushRequest {
        namespace: &flags.cluster.namespace,
        name,
        kind: contract.label(),
        plugin_name: flags.plugin_name.as_deref(),
        texts: &texts,
        encoding,
        packed: packed.into(),
        artifact: placed.map(|reference| reference.to_string()),
        digest: component.digest,
        part_bytes: usize::try_from(flags.part_size).unwrap_or(usize::MAX),
    };
    if flags.dry_run {
        let inspected = may_load(declared(name, unpacked, &texts)?).await?;
        let mut plan = plan(&request, None)?;
        plan.index.metadata.annotations = version(&inspected).map(|version| [version].into());
        if key.is_some() {
            let declared = raw(plan.index.clone()).declared()?;
            let bundle = signing.bundle(&declared, &inspected, BTreeSet::new())?;
            plan.index.data.get_or_insert_default().extend(signing.signed(&bundle)?);
        }
        return print(&plan);
    }
    let api = config_maps(&flags.cluster).await?;
    let push = Push { api, name, force: flags.force, signing };
    push.run(request, unpacked, &flags).await
}

/// Puts it into the registry, and says which artifact it is there.
async fn bring(
    artifact: &Artifact<'_>,
    component: &Component,
    contract: Contract,
    (key, bundle): (Option<&SigningKey>, Option<Bundle>),
) -> anyhow::Result<Reference> {
    let outside = component::outside(&component.bytes, contract)?;
    let mut imports = [outside.granted, outside.inert].concat();
    imports.sort();
    let digest = artifact.push(&component.bytes, &imports, &outside.exports).await?;
    if let Some(key) = key {
        artifact.sign(key, digest).await?;
        if let Some(bundle) = &bundle {
            artifact.sign_bundle(key, digest, bundle).await?;
        }
    }
    let reference = artifact.reference.at(digest);
    println!("{}{reference}", if key.is_some() { "signed " } else { "" });
    Ok(reference)
}

struct Push<'a> {
    api: Api<ConfigMap>,
    name: &'a str,
    force: bool,
    signing: Signing<'a>,
}

impl Push<'_> {
    async fn run(
        &self,
        request: PushRequest<'_>,
        component: Packed,
        flags: &PushFlags,
    ) -> anyhow::Result<()> {
        let there = self.there().await?;
        let texts = regions_changed(request.texts, there.as_ref(), flags).await?;
        let request = PushRequest { texts: &texts, ..request };
        let mut first = plan(&request, there.as_ref())?;
        // Parts of another push that begins after this look are not touched.
        let older = self.own_parts().await?;
        let result = raw(self.preflight(&first, there.as_ref()).await?);
        // With the settings, grants and names that stand in the cluster already.
        let mut declared = result.declared().context("the host would refuse it")?;
        let inspected = may_load(declared.clone().with(component)).await?;
        let version = version(&inspected);
        let about = inspected.about.clone();
        let mut reaches_nothing = about.is_some() && declared.grants.egress().is_empty();
        if let Some(about) = &about {
            let grants =
                result.data.get(PluginKeys::GRANTS_YAML).or_else(|| result.data.get(PluginKeys::GRANTS_JSON));
            let there = there.as_ref();
            if let Some(grants) = self.wanted_grants(about, (&declared.grants, grants), there, flags)? {
                reaches_nothing = false;
                let texts = Texts { grants: Some(grants), ..request.texts.clone() };
                first = plan(&PushRequest { texts: &texts, ..request }, there)?;
                let result = raw(self.preflight(&first, there).await?);
                declared = result.declared().context("the host would refuse it with these grants")?;
            }
        }
        let mut plan = first;
        if self.signing.key.is_some() {
            let bundle = self.signing.bundle(&declared, &inspected, BTreeSet::new())?;
            plan.index.data.get_or_insert_default().extend(self.signing.signed(&bundle)?);
        }
        let has_bundle =
            |map: &ConfigMap| map.data.as_ref().is_some_and(|data| data.contains_key(PluginKeys::BUNDLE));
        if there.as_ref().is_some_and(has_bundle) && !has_bundle(&plan.index) {
            eprintln!(
                "note: the bundle that was signed is about something else, and goes: --sign KEY signs what is pushed"
            );
        }
        let wishes = about.and_then(|about| grants::to_consider(&about.hosts));
        let wishes = wishes.map(|wishes| (WISHED_ANNOTATION.to_owned(), wishes));
        plan.index.metadata.annotations = Some(wishes.into_iter().chain(version).collect());
        for part in &plan.parts {
            self.apply(part, false).await?;
            eprintln!("part {} applied", part.metadata.name.as_deref().unwrap_or_default());
        }
        let written = self.apply(&plan.index, false).await?;
        let before = there.and_then(|there| there.metadata.resource_version);
        let is_same = before.is_some() && before == written.metadata.resource_version;
        eprintln!("ConfigMap {} {}", self.name, if is_same { "unchanged" } else { "applied" });
        if reaches_nothing {
            eprintln!(
                "note: no egress rule grants this driver a host: it reaches nothing. Grant hosts with --grants FILE"
            );
        }
        if flags.no_wait {
            return Ok(());
        }
        let content = raw(written).fingerprint().to_string();
        let outcome = wait(&self.api, self.name, &content, flags.timeout.unsigned_abs()).await?;
        println!("{outcome}");
        self.remove(older).await
    }

    /// The grants with what the driver wishes beside them, when somebody agrees. `None` when they are to stay.
    fn wanted_grants(
        &self,
        about: &About,
        (grants, text): (&Grants, Option<&String>),
        there: Option<&ConfigMap>,
        flags: &PushFlags,
    ) -> anyhow::Result<Option<String>> {
        let annotations = there.and_then(|there| there.metadata.annotations.as_ref());
        let considered = grants::considered(annotations.and_then(|all| all.get(WISHED_ANNOTATION)));
        let missing = Missing::of(&about.hosts, grants, &considered);
        let is_asked = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        let consent = match (&flags.grants, flags.grant_wanted) {
            (Some(_), _) => Consent::Given,
            (None, true) => Consent::Ordinary,
            (None, false) if is_asked => Consent::Asked,
            (None, false) => Consent::Nobody,
        };
        let driver = format!("{} {}", about.name, about.version);
        let ask = |question: &str| grants::ask(question, std::io::stdin().lock(), std::io::stderr());
        grants::granted(&missing, &driver, (grants, text.map(String::as_str)), consent, ask)
            .with_context(|| format!("failed to push to ConfigMap {}", self.name))
    }

    async fn there(&self) -> anyhow::Result<Option<ConfigMap>> {
        let task = format!("read ConfigMap {}", self.name);
        self.api.get_opt(self.name).await.map_err(|error| explained(error, &task))
    }

    /// Applies the index as a dry run, before anything is written.
    async fn preflight(&self, plan: &Plan, there: Option<&ConfigMap>) -> anyhow::Result<ConfigMap> {
        let result = self.apply(&plan.index, true).await?;
        let in_the_way = in_the_way(plan, &result);
        let Some(there) = there.filter(|_| !in_the_way.is_empty()) else { return Ok(result) };
        let mut there = there.clone();
        let mut attempts = 0;
        // The host writes its status into the ConfigMap at any time.
        while !self.take_over(&there, &in_the_way).await? {
            attempts += 1;
            if attempts == ATTEMPTS {
                bail!("ConfigMap {} was written {attempts} times while it was read: try again", self.name);
            }
            there = self.there().await?.with_context(|| format!("ConfigMap {} is gone", self.name))?;
        }
        self.apply(&plan.index, true).await
    }

    /// Takes over the ownership of these keys: the content changes with the one write that is the switch. `false`: the
    /// ConfigMap has another version by now.
    async fn take_over(&self, there: &ConfigMap, keys: &[String]) -> anyhow::Result<bool> {
        let foreign: Vec<&str> = {
            let ours = written_by_us(there);
            keys.iter().map(String::as_str).filter(|key| !ours.contains(*key)).collect()
        };
        if !self.force && !foreign.is_empty() {
            bail!(
                "ConfigMap {} has {}, which `machinist plugin push` did not write and the host would not accept \
                 beside this component: --force replaces it",
                self.name,
                foreign.join(", ")
            );
        }
        let patch = json!({ "metadata": {
            "resourceVersion": there.metadata.resource_version,
            "managedFields": taken_over(there, keys),
        } });
        let task = format!("take over {} of ConfigMap {}", keys.join(", "), self.name);
        patch_version(&self.api, self.name, &patch, &task).await
    }

    async fn apply(&self, map: &ConfigMap, dry_run: bool) -> anyhow::Result<ConfigMap> {
        let name = map.metadata.name.as_deref().unwrap_or_default();
        let params = PatchParams { dry_run, force: self.force, ..PatchParams::apply(MANAGER) };
        let applied = self.api.patch(name, &params, &Patch::Apply(map)).await;
        applied.map_err(|error| explained(error, &format!("write ConfigMap {name}")))
    }

    /// Parts that pushes to this ConfigMap made: uid by name.
    async fn own_parts(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let selector = format!(
            "{}={},{}={}",
            PluginKeys::KIND_LABEL,
            PluginKeys::PART_KIND,
            PluginKeys::INDEX_LABEL,
            self.name
        );
        let parts = list(&self.api, &selector, "list the parts of older versions").await?;
        Ok(parts.into_iter().filter_map(|part| Some((part.name?, part.uid?))).collect())
    }

    /// Removes parts that no index of the namespace names.
    async fn remove(&self, mut parts: BTreeMap<String, String>) -> anyhow::Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let selector = format!(
            "{} in ({},{})",
            PluginKeys::KIND_LABEL,
            PluginKeys::DRIVER_KIND,
            PluginKeys::POLICY_KIND
        );
        let maps = self.api.list(&ListParams::default().labels(&selector)).await;
        let maps = maps.map_err(|error| explained(error, "list the indexes that may need older parts"))?;
        let indexes = maps.items.iter().filter_map(|map| map.data.as_ref()?.get(PluginKeys::INDEX_KEY));
        let mut needed = BTreeSet::new();
        for text in indexes {
            match Index::parse(text) {
                Ok(index) => needed.extend(index.parts.into_iter().map(|part| part.config_map)),
                // Its parts are not known.
                Err(_) => parts.retain(|name, _| !text.contains(name.as_str())),
            }
        }
        for (name, uid) in parts.into_iter().filter(|(name, _)| !needed.contains(name)) {
            let preconditions = Some(Preconditions { uid: Some(uid), ..Preconditions::default() });
            let params = DeleteParams { preconditions, ..DeleteParams::default() };
            match self.api.delete(&name, &params).await {
                Ok(_) => eprintln!("part {name} of an older version removed"),
                Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => {}
                Err(error) => {
                    return Err(explained(error, &format!("remove {name}, a part that nothing needs")));
                }
            }
        }
        Ok(())
    }
}

/// Other regions for the grants that are there, when the push brings none of its own.
async fn regions_changed(
    texts: &Texts,
    there: Option<&ConfigMap>,
    flags: &PushFlags,
) -> anyhow::Result<Texts> {
    let mut texts = texts.clone();
    if texts.grants.is_none() && !flags.region.is_empty() {
        let data = there.and_then(|there| there.data.as_ref());
        let grants = data
            .and_then(|data| data.get(PluginKeys::GRANTS_YAML).or_else(|| data.get(PluginKeys::GRANTS_JSON)));
        let grants = grants.context("--region needs grants: give them with --grants FILE")?;
        texts.grants = Some(plugin_regions::filled(grants.clone(), &flags.region, None).await?);
    }
    Ok(texts)
}

/// Returns the annotation that orders the versions of a plugin; creation times change when objects are restored.
pub(crate) fn version(inspected: &Inspected) -> Option<(String, String)> {
    let driver = inspected.about.as_ref().map(|about| about.version.to_string());
    let version = driver.or_else(|| inspected.policy.as_ref().map(|about| about.version.to_string()))?;
    Some((PluginKeys::VERSION_ANNOTATION.to_owned(), version))
}

fn print(plan: &Plan) -> anyhow::Result<()> {
    for map in plan.parts.iter().chain([&plan.index]) {
        println!("---\n{}", serde_yaml_ng::to_string(map)?.trim_end());
    }
    Ok(())
}
