//! The templates that a deployment can return to, and where they differ. Pure.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Context, Result, bail};
use machinist_api::names::annotations::REVISION_HISTORY;
use machinist_api::{MachineDeployment, MachineSet};
use serde::Serialize;
use serde_json::Value;

use super::change::not_found;
use super::titled;
use crate::output;
use crate::owner_tree::{Sets, annotation, count, name, template_of, text};

/// The annotation in which kubectl and others keep the reason of a change.
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// A template that is kept.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Kept {
    pub(super) revision: i64,
    /// It was this earlier, and came back.
    pub(super) earlier: Vec<i64>,
    pub(super) is_current: bool,
    pub(super) machine_set: String,
    pub(super) class: String,
    pub(super) machines: u32,
    pub(super) change_cause: Option<String>,
}

/// The lowest revision first.
pub(super) fn history(deployment: &MachineDeployment, sets: &[MachineSet]) -> Vec<Kept> {
    let sets = Sets::of(deployment, sets);
    let kept = sets.kept();
    kept.into_iter().map(|(revision, set)| entry(revision, set, sets.current_revision())).collect()
}

fn entry(revision: i64, set: &MachineSet, current: Option<i64>) -> Kept {
    let earlier = annotation(&set.metadata, REVISION_HISTORY).unwrap_or_default();
    Kept {
        revision,
        earlier: earlier.split(',').filter_map(|text| text.trim().parse().ok()).collect(),
        is_current: current == Some(revision),
        machine_set: name(&set.metadata).to_owned(),
        class: template_of(set).spec.class.name.unwrap_or_default(),
        machines: set.status.as_ref().map_or(0, |status| count(status.replicas)),
        change_cause: annotation(&set.metadata, CHANGE_CAUSE).map(str::to_owned),
    }
}

pub(super) fn table(name: &str, history: &[Kept]) -> String {
    if history.is_empty() {
        return format!("{}\nNo rollout history found.", titled(name));
    }
    let mut table = output::table(["REVISION", "MACHINESET", "CLASS", "MACHINES", "CHANGE-CAUSE"]);
    for kept in history {
        let current = if kept.is_current { " (current)" } else { "" };
        table.add_row([
            format!("{}{current}", kept.revision),
            kept.machine_set.clone(),
            kept.class.clone(),
            kept.machines.to_string(),
            kept.change_cause.clone().unwrap_or_else(|| "<none>".to_owned()),
        ]);
    }
    let lines: Vec<String> = table.to_string().lines().map(|line| line.trim().to_owned()).collect();
    format!("{}\n{}", titled(name), lines.join("\n"))
}

/// One of them, with its template.
#[derive(Debug, Serialize)]
pub(super) struct Details {
    #[serde(skip)]
    name: String,
    #[serde(flatten)]
    kept: Kept,
    template: Value,
    /// From this one to the current one.
    differences: Vec<Difference>,
}

/// # Errors
/// When it is not kept.
pub(super) fn details(deployment: &MachineDeployment, sets: &[MachineSet], revision: i64) -> Result<Details> {
    let sets = Sets::of(deployment, sets);
    let name = name(&deployment.metadata).to_owned();
    let Some((_, set)) = sets.of_revision(revision) else { bail!(not_found(&name, &sets, revision)) };
    let template = text(&template_of(set));
    let differences = differences(&template, &text(&deployment.spec.template));
    Ok(Details { name, kept: entry(revision, set, sets.current_revision()), template, differences })
}

pub(super) fn page(details: &Details) -> Result<String> {
    let kept = &details.kept;
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{} with revision #{}", titled(&details.name), kept.revision);
    let _ = writeln!(out, "MachineSet:    {}", kept.machine_set);
    if let Some(cause) = &kept.change_cause {
        let _ = writeln!(out, "Change-Cause:  {cause}");
    }
    if !kept.earlier.is_empty() {
        let earlier: Vec<String> = kept.earlier.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "Earlier:       {}", earlier.join(", "));
    }
    let _ = writeln!(out, "Machine Template:");
    let yaml = serde_yaml_ng::to_string(&details.template).context("failed to print the template")?;
    for line in yaml.lines() {
        let _ = writeln!(out, "  {line}");
    }
    if details.differences.is_empty() {
        let _ = writeln!(out, "The current template is the same.");
    } else {
        let _ = writeln!(out, "In the current template:");
    }
    for Difference { field, was, is } in &details.differences {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "<none>".to_owned());
        let _ = writeln!(out, "  {field}: {} instead of {}", value(is), value(was));
    }
    Ok(out)
}

/// A field that is not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Difference {
    field: String,
    was: Option<String>,
    is: Option<String>,
}

/// All of them, by field.
fn differences(was: &Value, is: &Value) -> Vec<Difference> {
    let (was, is) = (fields(was), fields(is));
    let mut all: Vec<&String> = was.keys().chain(is.keys()).collect();
    all.sort();
    all.dedup();
    let differ = all.into_iter().filter(|field| was.get(*field) != is.get(*field));
    differ
        .map(|field| Difference {
            field: field.clone(),
            was: was.get(field).cloned(),
            is: is.get(field).cloned(),
        })
        .collect()
}

/// Each that has a value, by its path.
fn fields(value: &Value) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    collect(String::new(), value, &mut fields);
    fields
}

fn collect(path: String, value: &Value, fields: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(inner) => {
            for (key, value) in inner {
                // Names of labels and the like have dots of their own.
                let step = match (path.is_empty(), key.contains(['.', '/'])) {
                    (_, true) => format!("{path}[{key}]"),
                    (true, false) => key.clone(),
                    (false, false) => format!("{path}.{key}"),
                };
                collect(step, value, fields);
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                collect(format!("{path}[{number}]"), item, fields);
            }
        }
        Value::String(text) => drop(fields.insert(path, text.clone())),
        Value::Bool(_) | Value::Number(_) => drop(fields.insert(path, value.to_string())),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    /// A deployment `workers` of this class.
    pub(crate) fn deployment(class: &str) -> MachineDeployment {
        serde_json::from_value(json!({
            "metadata": { "name": "workers", "uid": "d" },
            "spec": { "template": {
                "metadata": { "labels": { "name": "workers" } },
                "spec": { "class": { "kind": "MachineClass", "name": class } },
            } },
        }))
        .unwrap()
    }

    /// Its sets, by class and revision.
    pub(crate) fn sets(classes: &[(&str, i64)]) -> Vec<MachineSet> {
        let set = |(class, revision): &(&str, i64)| {
            serde_json::from_value(json!({
                "metadata": {
                    "name": format!("workers-{class}"),
                    "uid": class,
                    "creationTimestamp": format!("2026-01-0{revision}T00:00:00Z"),
                    "annotations": { "deployment.kubernetes.io/revision": revision.to_string() },
                    "ownerReferences": [{
                        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineDeployment", "name": "workers",
                        "uid": "d", "controller": true,
                    }],
                },
                "spec": { "replicas": 0, "template": {
                    "metadata": { "labels": { "name": "workers", "machine-template-hash": class } },
                    "spec": { "class": { "kind": "MachineClass", "name": class } },
                } },
                "status": { "replicas": 2 },
            }))
            .unwrap()
        };
        classes.iter().map(set).collect()
    }

    fn annotated(mut set: MachineSet, key: &str, value: &str) -> MachineSet {
        set.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        set
    }

    fn world() -> (MachineDeployment, Vec<MachineSet>) {
        let mut sets = sets(&[("large", 2), ("small", 3)]);
        sets[1] = annotated(sets[1].clone(), CHANGE_CAUSE, "back to small");
        sets[1] = annotated(sets[1].clone(), REVISION_HISTORY, "1");
        (deployment("small"), sets)
    }

    #[test]
    fn what_is_kept_is_listed_with_its_cause_and_which_is_current() {
        let (deployment, sets) = world();
        expect![[r#"
            machinedeployment.machine.sapcloud.io/workers
            REVISION     MACHINESET     CLASS  MACHINES  CHANGE-CAUSE
            2            workers-large  large  2         <none>
            3 (current)  workers-small  small  2         back to small"#]]
        .assert_eq(&table("workers", &history(&deployment, &sets)));
        expect![[r#"
            machinedeployment.machine.sapcloud.io/workers
            No rollout history found."#]]
        .assert_eq(&table("workers", &history(&deployment, &[])));
    }

    #[test]
    fn a_revision_is_shown_with_its_template_and_what_has_changed_since() {
        let (deployment, sets) = world();
        expect![[r#"
            machinedeployment.machine.sapcloud.io/workers with revision #2
            MachineSet:    workers-large
            Machine Template:
              metadata:
                labels:
                  name: workers
              spec:
                class:
                  kind: MachineClass
                  name: large
            In the current template:
              spec.class.name: small instead of large
        "#]]
        .assert_eq(&page(&details(&deployment, &sets, 2).unwrap()).unwrap());
        let current = page(&details(&deployment, &sets, 3).unwrap()).unwrap();
        for part in ["Change-Cause:  back to small", "Earlier:       1", "The current template is the same."]
        {
            assert!(current.contains(part), "{part} is missing in\n{current}");
        }
        let gone = details(&deployment, &sets, 1).unwrap_err().to_string();
        assert!(gone.contains("kept are 2, 3"), "{gone}");
    }

    #[test]
    fn fields_that_differ_are_named_with_both_values() {
        let was = json!({ "a": { "b": 1, "x/y": "z" }, "list": [{ "k": "v" }], "same": true, "none": null });
        let is = json!({ "a": { "b": 2 }, "list": [{ "k": "w" }, "more"], "same": true });
        let shown: Vec<String> = differences(&was, &is)
            .into_iter()
            .map(|one| {
                format!("{} {:?} {:?}", one.field, one.was.unwrap_or_default(), one.is.unwrap_or_default())
            })
            .collect();
        assert_eq!(
            shown,
            [r#"a.b "1" "2""#, r#"a[x/y] "z" """#, r#"list[0].k "v" "w""#, r#"list[1] "" "more""#,]
        );
        assert!(differences(&was, &was).is_empty());
    }
}
