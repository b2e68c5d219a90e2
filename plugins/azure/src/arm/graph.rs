//! Queries of Resource Graph: a table of all resources, some seconds to minutes old.

use serde_json::Value;

use crate::arm::answer;
use crate::arm::names::{Kind, ResourceId};
use crate::tags::{CLUSTER_TAG, NAME_TAG, TagKeys, Tags, UID_TAG};

/// Rows of one page: with every tag at its maximum length, a page stays below the host's limit of 4 MiB.
pub(crate) const PAGE_ROWS: usize = 100;

/// A resource in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: ResourceId,
    pub(crate) location: String,
    pub(crate) tags: Tags,
    pub(crate) created: Option<String>,
}

/// One page of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Row>,
    pub(crate) next: Option<String>,
}

/// The columns of each answer.
const COLUMNS: &str =
    "project id, name, type, location, resourceGroup, tags, created = properties.timeCreated";

/// Returns the query for everything with the cluster's mark. Machines are together, so that a page has each once.
pub(crate) fn of_cluster(cluster: &str) -> String {
    let order = format!("order by tostring(tags['{UID_TAG}']) asc, id asc");
    format!("{} | where {} | {COLUMNS} | {order}", kinds(), tag_is(CLUSTER_TAG, cluster))
}

/// Returns the query for everything with a Machine's uid, of any cluster.
pub(crate) fn of_machine(uid: &str) -> String {
    format!("{} | where {} | {COLUMNS} | order by id asc", kinds(), tag_is(UID_TAG, uid))
}

/// Returns the query for everything in a resource group with these two tags, of any program.
pub(crate) fn of_keys(group: &str, keys: &TagKeys) -> String {
    let has = |key: &str| format!("isnotnull(tags[{}])", literal(key));
    let (cluster, role) = (has(&keys.cluster), has(&keys.role));
    let group = literal(group);
    format!(
        "{} | where resourceGroup =~ {group} | where {cluster} | where {role} | {COLUMNS} | order by id asc",
        kinds()
    )
}

fn kinds() -> String {
    let kind = |kind: Kind| format!("'{}'", kind.name().to_ascii_lowercase());
    let [vm, nic, disk] = [Kind::Vm, Kind::Nic, Kind::Disk].map(kind);
    format!("Resources | where type in~ ({vm}, {nic}, {disk})")
}

fn tag_is(tag: &str, value: &str) -> String {
    format!("tags[{}] == {}", literal(tag), literal(value))
}

/// Quotes a text for the query language.
fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for char in text.chars() {
        match char {
            '\'' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

/// Reads a page. `None` if an entry is invalid: an incomplete listing is worse than an error.
pub(crate) fn page(value: &Value) -> Option<Page> {
    let rows = value.get("data")?.as_array()?.iter().map(row).collect::<Option<_>>()?;
    let next = match value.get("$skipToken") {
        None | Some(Value::Null) => None,
        Some(token) => Some(token.as_str()?.to_owned()),
    };
    // Without a token, Azure says here that it could not return all.
    let is_cut = value.get("resultTruncated").and_then(Value::as_str) == Some("true");
    (!is_cut || next.is_some()).then_some(Page { rows, next })
}

fn row(value: &Value) -> Option<Row> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Row {
        id: ResourceId::parse(&text("id")?)?,
        location: text("location").unwrap_or_default(),
        tags: answer::tags(value),
        created: text("created"),
    })
}

impl Row {
    /// Returns the name of the machine: that of its tag, else by the name of the resource.
    pub(crate) fn vm_name(&self) -> Option<&str> {
        let derived = crate::arm::names::vm_of(self.id.kind, &self.id.name);
        derived.or_else(|| self.tags.get(NAME_TAG))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_text_ends_its_own_quotes() {
        assert_eq!(literal(r"a' | project x \"), r"'a\' | project x \\'");
        let keys = TagKeys { cluster: "kubernetes.io-cluster-a'b".into(), role: "r".into() };
        assert!(of_keys("g", &keys).contains(r"isnotnull(tags['kubernetes.io-cluster-a\'b'])"));
    }

    #[test]
    fn a_page_is_whole_or_none() {
        let id = "/subscriptions/s/resourceGroups/g/providers/microsoft.compute/virtualmachines/a";
        let read = page(&json!({ "data": [{ "id": id, "tags": { "k": "v" } }], "$skipToken": "t" })).unwrap();
        assert_eq!((read.rows.len(), read.next.as_deref()), (1, Some("t")));
        assert_eq!(read.rows[0].id.kind, Kind::Vm);
        for unusual in [
            json!({}),
            json!({ "data": [{}] }),
            json!({ "data": [], "$skipToken": 1 }),
            json!({ "data": [], "resultTruncated": "true" }),
        ] {
            assert_eq!(page(&unusual), None, "{unusual}");
        }
    }
}
