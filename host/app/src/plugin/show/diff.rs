//! `machinist plugin diff`: in what two components differ, as a reviewer of an upgrade wants to see it.

use anyhow::{Context as _, bail};
use machinist_artifacts::Reference;
use similar::{ChangeTag, TextDiff};

use crate::args::DiffFlags;
use crate::plugin::cluster::config_maps;
use crate::plugin::file::{Texts, declared_in};
use crate::plugin::ship::registry::Artifact;
use crate::plugin::show::inspect::{from_anywhere, pulled};
use crate::plugin::show::view::View;

pub(crate) async fn diff(flags: DiffFlags) -> anyhow::Result<()> {
    let (old, new) = (seen(&flags, &flags.old).await?, seen(&flags, &flags.new).await?);
    let text = differences(&old, &new);
    if text.is_empty() {
        println!("{} and {} show no difference from outside", flags.old, flags.new);
        return Ok(());
    }
    println!("--- {}\n+++ {}", flags.old, flags.new);
    print!("{text}");
    Ok(())
}

/// Returns the text of `plugin inspect`, also for a component that the host would refuse.
async fn seen(flags: &DiffFlags, what: &str) -> anyhow::Result<String> {
    let declared = match location(what) {
        ComponentLocation::ConfigMap(name) => {
            let api = config_maps(&flags.cluster).await?;
            from_anywhere(&api, name, &Texts::default(), flags.registry_auth.as_deref()).await?
        }
        ComponentLocation::Artifact(reference) => {
            let reference: Reference =
                reference.parse().with_context(|| format!("{what:?} names no artifact"))?;
            let texts = Texts::read(flags.settings.as_deref(), flags.grants.as_deref(), None)?;
            let artifact = Artifact::at(&reference, flags.registry_auth.as_deref()).await?;
            pulled(&artifact, &texts).await?
        }
        ComponentLocation::File(path) => {
            let texts = Texts::read(flags.settings.as_deref(), flags.grants.as_deref(), None)?;
            declared_in(path.as_ref(), &texts)?
        }
        ComponentLocation::Nowhere => {
            bail!("{what:?} names neither a file nor configmap/NAME nor oci:REFERENCE")
        }
    };
    let (view, inspected) = View::inspect(declared).await?;
    if inspected.outside.is_none() {
        let reason = inspected.refusal.unwrap_or_else(|| "no reason is known".to_owned());
        bail!("failed to compare {what}, which is no component: {reason}");
    }
    let mut text = view.to_text();
    if let Some(reason) = inspected.refusal {
        text.push_str(&format!("The host would refuse it: {reason}\n"));
    }
    Ok(text)
}

#[derive(Debug, PartialEq, Eq)]
enum ComponentLocation<'a> {
    File(&'a str),
    ConfigMap(&'a str),
    Artifact(&'a str),
    Nowhere,
}

/// `configmap/NAME` or `cm/NAME`, `oci:REFERENCE`, else a file.
fn location(what: &str) -> ComponentLocation<'_> {
    if let Some(reference) = what.strip_prefix("oci:") {
        return ComponentLocation::Artifact(reference);
    }
    match what.split_once('/') {
        Some(("configmap" | "configmaps" | "cm", name)) if !name.is_empty() && !name.contains('/') => {
            ComponentLocation::ConfigMap(name)
        }
        Some(_) | None if what.is_empty() => ComponentLocation::Nowhere,
        Some(_) | None => ComponentLocation::File(what),
    }
}

/// Lines that were taken away and that were added, each list below its heading. Empty when there are none.
fn differences(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let mut text = String::new();
    let mut heading = None;
    for change in diff.iter_all_changes() {
        let line = change.value();
        if !line.starts_with(' ') && line.trim_end().ends_with(':') {
            heading = Some(line);
        }
        let sign = match change.tag() {
            ChangeTag::Equal => continue,
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        if let Some(heading) = heading.take_if(|heading| line.starts_with(' ') && *heading != line) {
            text.push(' ');
            text.push_str(heading);
        }
        text.push(sign);
        text.push_str(line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown_below_its_heading() {
        let old = "Size:  10\nDriver:  sim 1.0.0\nGranted hosts:\n  https://a\n  https://b\nLimits of a call:\n  memory_mib: 64\n";
        let new = "Size:  10\nDriver:  sim 1.1.0\nGranted hosts:\n  https://a\n  https://c\nLimits of a call:\n  memory_mib: 64\n";
        assert_eq!(
            differences(old, new),
            "-Driver:  sim 1.0.0\n+Driver:  sim 1.1.0\n Granted hosts:\n-  https://b\n+  https://c\n"
        );
        assert_eq!(differences(old, old), "");
    }

    #[test]
    fn a_configmap_is_named_as_for_kubectl() {
        assert_eq!(location("configmap/aws"), ComponentLocation::ConfigMap("aws"));
        assert_eq!(location("cm/aws"), ComponentLocation::ConfigMap("aws"));
        assert_eq!(location("target/aws.wasm"), ComponentLocation::File("target/aws.wasm"));
        assert_eq!(location("oci:ghcr.io/acme/aws:1"), ComponentLocation::Artifact("ghcr.io/acme/aws:1"));
        assert_eq!(location("cm/a/b"), ComponentLocation::File("cm/a/b"));
        assert_eq!(location(""), ComponentLocation::Nowhere);
    }
}
