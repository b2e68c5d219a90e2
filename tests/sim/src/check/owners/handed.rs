//! Texts that hosts write into the specs of Machines and the templates of sets.

use machinist_core::value::duration;
use memory_api::Change;
use serde_json::Value;

/// Fields that programs in Go decode as durations: one that they cannot read hides every Machine from them.
const DURATIONS: [&str; 5] =
    ["creationTimeout", "healthTimeout", "drainTimeout", "inPlaceUpdateTimeout", "machinePreserveTimeout"];

/// A host writes a text into the spec of a Machine that is no duration, or a negative one. A text that was there
/// before, and stays, is not its doing.
pub(in crate::check) fn of_machine(change: &Change<'_>) -> Option<String> {
    let (field, text) = written(change.old.map(spec), spec(change.new?))?;
    Some(format!("{} writes spec.{field} {text} on a Machine", change.actor))
}

/// The same in the template of a set.
pub(in crate::check) fn of_set(change: &Change<'_>) -> Option<String> {
    let template = |object| &spec(object)["template"]["spec"];
    let (field, text) = written(change.old.map(template), template(change.new?))?;
    Some(format!("{} writes spec.template.spec.{field} {text} on a set", change.actor))
}

fn spec(object: &Value) -> &Value {
    &object["spec"]
}

/// The first field with a new text that is no duration.
fn written<'a>(old: Option<&Value>, new: &'a Value) -> Option<(&'static str, &'a Value)> {
    DURATIONS.iter().find_map(|name| {
        let text = &new[*name];
        let is_read = text.is_null()
            || text.as_str().is_some_and(|text| duration::parse(text).is_ok_and(|time| !time.is_negative()));
        let is_new = old.is_none_or(|old| old[*name] != *text);
        (is_new && !is_read).then_some((*name, text))
    })
}
