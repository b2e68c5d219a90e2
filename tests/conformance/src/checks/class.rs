//! Classes are checked before anything is asked of the cloud.

use machinist_core::driver::error::Code;

use super::checks;
use crate::case::{Case, Outcome, fine, guest, must, skipped};

checks! {
    "class/valid" Shared offline valid "a class that works is accepted";
    "class/invalid" Shared offline invalid "a class that cannot work is refused as invalid-argument";
    "class/field" Shared offline field "the refusal of a class names the field";
    "class/no-json" Shared offline no_json "a providerSpec that is no JSON object is refused, not trapped over";
    "class/create" Shared cloud create
        "a create with an invalid class asks nothing of the cloud and says that no retry helps";
}

async fn validated(case: &Case, spec: String) -> machinist_core::driver::DriverResult<Vec<String>> {
    case.stage.host.validate_class(case.class_text(spec)).await
}

async fn valid(case: Case) -> Outcome {
    let classes = &case.profile().class;
    for spec in [Some(&classes.valid), classes.other.as_ref()].into_iter().flatten() {
        fine(validated(&case, spec.to_string()).await, "validate-class of a class that works")?;
    }
    Ok(())
}

async fn invalid(case: Case) -> Outcome {
    let invalid = &case.profile().class.invalid;
    if invalid.is_empty() {
        return skipped("the profile names no invalid class (class.invalid)");
    }
    for class in invalid {
        let call = format!("validate-class of a class with a wrong {}", class.field);
        let error = guest(validated(&case, class.spec.to_string()).await, &call)?;
        must(error.code == Code::InvalidArgument, || {
            format!("{call} answers {} instead of invalid-argument", error.code)
        })?;
    }
    Ok(())
}

async fn field(case: Case) -> Outcome {
    for class in &case.profile().class.invalid {
        let answer = validated(&case, class.spec.to_string()).await;
        // Whether it is refused at all is another check's.
        let Err(error) = answer else { continue };
        let text = crate::case::said(&error);
        must(text.contains(&class.field), || {
            format!("the refusal of a class with a wrong {} does not name it: {text}", class.field)
        })?;
    }
    Ok(())
}

async fn no_json(case: Case) -> Outcome {
    for spec in ["", "{", "[]", "7", "\"text\"", "{\"a\": \u{0}}"] {
        let call = format!("validate-class of the providerSpec {spec:?}");
        let error = guest(validated(&case, spec.to_owned()).await, &call)?;
        must(error.code == Code::InvalidArgument, || {
            format!("{call} answers {} instead of invalid-argument", error.code)
        })?;
    }
    Ok(())
}

async fn create(case: Case) -> Outcome {
    for (index, class) in case.profile().class.invalid.iter().enumerate() {
        let mut machine = case.machine(&format!("bad-{index}"));
        machine.spec = class.spec.clone();
        let call = format!("create with a wrong {}", class.field);
        let error = guest(case.create(&mut machine).await, &call)?;
        must(error.code == Code::InvalidArgument && error.terminal, || {
            let terminal = if error.terminal { "terminal" } else { "not terminal" };
            format!("{call} answers {} ({terminal}) instead of a terminal invalid-argument", error.code)
        })?;
        must(case.stage.proxy.journal().is_empty(), || format!("{call} asks the cloud all the same"))?;
    }
    Ok(())
}
