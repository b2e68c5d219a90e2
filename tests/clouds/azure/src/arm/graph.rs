//! Resource Graph, as far as drivers query it: a pipeline of `where`, `project` and `order by` over `Resources`.

use serde_json::{Value, json};

use super::json_of;
use crate::cloud::Cloud;
use crate::wire::{Request, Response, error};

pub(super) fn answer(cloud: &Cloud, request: &Request, now_ms: u64) -> Response {
    let body = match request.json() {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let unknown = body.as_object().into_iter().flatten().find(|(name, _)| {
        !["subscriptions", "query", "options", "managementGroups", "facets"].contains(&name.as_str())
    });
    if let Some((name, _)) = unknown {
        return error(400, "BadRequest", &format!("Unknown property {name}."));
    }
    if body["subscriptions"] != json!([cloud.options.subscription]) {
        return error(403, "AccessDenied", "Access denied to a subscription.");
    }
    let query = body["query"].as_str().unwrap_or_default();
    let mut rows: Vec<Value> = cloud.graph(now_ms).values().map(|resource| row(cloud, resource)).collect();
    let mut steps = split(query, '|').into_iter().map(|step| step.trim().to_owned());
    if steps.next().as_deref() != Some("Resources") {
        return invalid(query);
    }
    let mut is_projected = false;
    for step in steps {
        let done = if let Some(condition) = step.strip_prefix("where ") {
            filter(&mut rows, condition)
        } else if let Some(columns) = step.strip_prefix("project ") {
            is_projected = true;
            project(&mut rows, columns)
        } else if let Some(order) = step.strip_prefix("order by ") {
            sort(&mut rows, order)
        } else {
            None
        };
        if done.is_none() {
            return invalid(&step);
        }
    }
    page(cloud, &body, &rows, is_projected)
}

fn page(cloud: &Cloud, body: &Value, rows: &[Value], is_projected: bool) -> Response {
    let options = &body["options"];
    let most = options["$top"].as_u64().and_then(|top| usize::try_from(top).ok()).unwrap_or(1_000);
    let most = most.clamp(1, 1_000).min(cloud.options.page_rows.max(1));
    let skip = match options["$skipToken"].as_str() {
        None => 0,
        Some(token) => match token.strip_prefix("skip-").and_then(|number| number.parse::<usize>().ok()) {
            Some(skip) => skip,
            None => return error(400, "BadRequest", "The skip token is invalid."),
        },
    };
    let shown: Vec<&Value> = rows.iter().skip(skip).take(most).collect();
    // Without the column id there is no token.
    let has_id = !is_projected || shown.iter().all(|row| !row["id"].is_null());
    let is_more = skip + shown.len() < rows.len();
    let mut answer = json!({
        "totalRecords": rows.len(), "count": shown.len(), "data": shown, "facets": [],
        "resultTruncated": if is_more && !has_id { "true" } else { "false" },
    });
    if is_more && has_id {
        answer["$skipToken"] = json!(format!("skip-{}", skip + shown.len()));
    }
    Response::json(200, &answer).with("x-ms-user-quota-remaining", "14")
}

fn row(cloud: &Cloud, resource: &crate::state::Resource) -> Value {
    let mut row = json_of(cloud, resource);
    row["type"] = json!(resource.kind.name().to_lowercase());
    row["resourceGroup"] = json!(resource.group.to_lowercase());
    row["subscriptionId"] = json!(cloud.options.subscription);
    row
}

/// Splits a text, but not within quotes.
fn split(text: &str, at: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut is_quoted, mut is_escaped) = (false, false);
    for char in text.chars() {
        if char == at && !is_quoted {
            parts.push(String::new());
            continue;
        }
        if char == '\'' && !is_escaped {
            is_quoted = !is_quoted;
        }
        is_escaped = char == '\\' && !is_escaped;
        if let Some(part) = parts.last_mut() {
            part.push(char);
        }
    }
    parts
}

/// Reads a quoted text at the beginning, and returns the rest.
fn literal(text: &str) -> Option<(String, &str)> {
    let mut read = String::new();
    let mut chars = text.strip_prefix('\'')?.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\'' => return Some((read, text.get(at + 2..)?)),
            '\\' => match chars.next()?.1 {
                'n' => read.push('\n'),
                'r' => read.push('\r'),
                't' => read.push('\t'),
                other => read.push(other),
            },
            other => read.push(other),
        }
    }
    None
}

fn filter(rows: &mut Vec<Value>, condition: &str) -> Option<()> {
    if let Some(list) = condition.strip_prefix("type in~ (") {
        let kinds: Vec<String> = split(list.strip_suffix(')')?, ',')
            .iter()
            .map(|text| literal(text.trim()).map(|(text, _)| text.to_lowercase()))
            .collect::<Option<_>>()?;
        rows.retain(|row| row["type"].as_str().is_some_and(|kind| kinds.contains(&kind.to_string())));
        return Some(());
    }
    if let Some(rest) = condition.strip_prefix("resourceGroup =~ ") {
        let (group, rest) = literal(rest)?;
        rows.retain(|row| row["resourceGroup"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(&group)));
        return rest.is_empty().then_some(());
    }
    if let Some(rest) = condition.strip_prefix("isnotnull(tags[") {
        let (key, rest) = literal(rest)?;
        rows.retain(|row| !row["tags"][&key].is_null());
        return (rest == "])").then_some(());
    }
    let (key, rest) = literal(condition.strip_prefix("tags[")?)?;
    let (value, rest) = literal(rest.strip_prefix("] == ")?)?;
    rows.retain(|row| row["tags"][&key] == json!(value));
    rest.is_empty().then_some(())
}

fn project(rows: &mut [Value], columns: &str) -> Option<()> {
    let columns = split(columns, ',');
    for row in rows {
        let mut projected = json!({});
        for column in &columns {
            let column = column.trim();
            let (name, path) = column.split_once(" = ").unwrap_or((column, column));
            let pointer = format!("/{}", path.replace('.', "/"));
            projected[name] = row.pointer(&pointer).cloned().unwrap_or_default();
        }
        *row = projected;
    }
    Some(())
}

fn sort(rows: &mut [Value], order: &str) -> Option<()> {
    let mut columns = Vec::new();
    for column in split(order, ',') {
        let name = column.trim().strip_suffix(" asc")?.to_owned();
        let pointer = match name.strip_prefix("tostring(tags[") {
            Some(rest) => {
                let (key, rest) = literal(rest)?;
                if rest != "])" {
                    return None;
                }
                format!("/tags/{}", key.replace('~', "~0").replace('/', "~1"))
            }
            None => format!("/{name}"),
        };
        columns.push(pointer);
    }
    let key = |row: &Value| -> Vec<String> {
        let text =
            |pointer: &String| row.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        columns.iter().map(text).collect()
    };
    rows.sort_by_key(key);
    Some(())
}

fn invalid(step: &str) -> Response {
    error(400, "BadRequest", &format!("Query is invalid. Please refer to the documentation. Near: {step}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_what_would_end_a_step() {
        assert_eq!(split(r"a | where tags['x|\'y'] == 'z'", '|'), ["a ", r" where tags['x|\'y'] == 'z'"]);
        assert_eq!(literal(r"'a\'b\\' rest"), Some((r"a'b\".to_owned(), " rest")));
        assert_eq!(literal("'open"), None);
        assert_eq!(filter(&mut Vec::new(), "name contains 'x'"), None);
    }
}
