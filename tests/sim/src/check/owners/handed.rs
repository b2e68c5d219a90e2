//! Texts that hosts write into the specs of Machines.

use machinist_core::duration;
use memory_api::Change;
use serde_json::Value;

/// Fields that programs in Go decode as durations: one that they cannot read hides every Machine from them.
const DURATIONS: [&str; 5] =
    ["creationTimeout", "healthTimeout", "drainTimeout", "inPlaceUpdateTimeout", "machinePreserveTimeout"];

/// A host writes a text that is no duration, or a negative one. What it found there and left is not its doing.
pub(in super::super) fn of_machine(change: &Change<'_>) -> Option<String> {
    let field = |object: Option<&Value>, name: &str| object.map(|object| object["spec"][name].clone());
    DURATIONS.iter().find_map(|name| {
        let now = field(change.new, name)?;
        let is_read = now.is_null()
            || now.as_str().is_some_and(|text| duration::parse(text).is_ok_and(|time| !time.is_negative()));
        let is_new = field(change.old, name).as_ref() != Some(&now);
        (is_new && !is_read).then(|| format!("{} writes spec.{name} {now} on a Machine", change.actor))
    })
}
