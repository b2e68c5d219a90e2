//! Objects of an API server, as somebody has stored them under an older schema.

use machinist_api::template::MachineTemplate;
use machinist_api::{Machine, MachineClass, MachineDeployment, MachineSet};
use machinist_runtime::template_fact;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(super) const TARGET: Target = Target {
    name: "objects",
    about: "Machines, classes, sets and deployments: a field of another type hides no object, and writing one loses nothing more",
    grammar: Grammar::Json,
    samples,
    words: super::lives::WORDS,
    share: 50,
    check,
};

pub(super) fn samples() -> Vec<Vec<u8>> {
    let mut all = samples::folder("host/api/tests/fixtures", ".json");
    for file in ["aws/30-machineclass", "aws/40-machine", "sim/30-machineclass", "sim/40-machine"] {
        let documents = samples::documents(&format!("deploy/samples/{file}.yaml"));
        all.extend(documents.iter().map(|object| object.to_string().into_bytes()));
    }
    all
}

fn check(input: &[u8]) -> Verdict {
    let Ok(value @ Value::Object(_)) = serde_json::from_slice(input) else {
        return Ok(Shape::of("no object"));
    };
    let (machine, class) = (read::<Machine>(&value)?, read::<MachineClass>(&value)?);
    let (set, deployment) = (read::<MachineSet>(&value)?, read::<MachineDeployment>(&value)?);
    let template: Option<MachineTemplate> = serde_json::from_value(value["spec"]["template"].clone()).ok();
    let fact = template.as_ref().map(|template| format!("{:?}", template_fact(template)));
    let kinds = [machine.is_some(), class.is_some(), set.is_some(), deployment.is_some()];
    let phase = machine.map(|machine| format!("{:?}", machine.phase()));
    let secrets = class.map(|class| class.secret_references().count());
    Ok(Shape::of(&format!("{phase:?} {kinds:?} {secrets:?}")).and(Shape::of(&fact.unwrap_or_default())))
}

/// `None`: a list or an object has another type, which hides it. All else decodes, and is the same when it is read
/// again.
fn read<K: DeserializeOwned + Serialize + PartialEq>(value: &Value) -> Result<Option<K>, String> {
    let Ok(object) = serde_json::from_value::<K>(value.clone()) else { return Ok(None) };
    let text = serde_json::to_string(&object).map_err(|error| format!("it cannot be written: {error}"))?;
    if has_time_before_year_0(&text) {
        // RFC 3339 has no such time, and an API server stores none.
        return Ok(Some(object));
    }
    let again =
        serde_json::from_str::<K>(&text).map_err(|error| format!("it is not read again: {error}: {text}"))?;
    promise(again == object, || format!("it is another object when it is read again: {text}"))?;
    let _spec = json!({ "spec": value["spec"] });
    Ok(Some(object))
}

fn has_time_before_year_0(text: &str) -> bool {
    text.split("\"-").skip(1).any(|rest| {
        let mut bytes = rest.bytes();
        bytes.by_ref().take(4).all(|byte| byte.is_ascii_digit()) && bytes.next() == Some(b'-')
    })
}
