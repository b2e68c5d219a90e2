//! Whether drivers can use the classes, and the classes their Secrets.
//!
//! A driver validates a class when it is new, when it changes, and when another version of the driver serves. The
//! result is stored for the reconciles of Machines. The failure of a driver is no result for its class.

use kube::Api;
use machinist_api::{MachineClass, names};
use machinist_core::driver::ClassSpec;
use machinist_core::driver::error::{CallError, Code, DriverError};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::{DriverFact, Requeue, Severity};
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::ObjectKey;
use serde_json::json;
use tracing::debug;

use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::classes::class_secrets;
use crate::controllers::objects::status_write::merge_status;
use crate::controllers::state::TenantState;
use crate::driver_calls::class_checks::ClassCheck;
use crate::driver_calls::driver_choice::{DriverChoice, class_spec};
use crate::events::{About, Event};
use crate::message::Report;

/// The condition of a class.
const VALID: &str = "Valid";

/// Its reason where the driver cannot use the class.
const INVALID: &str = "ClassInvalid";

/// Its reason where the class may not use a Secret.
const REFUSED: &str = "SecretRefused";

/// The answer of the driver, if it concerns the class.
enum CheckResult {
    Valid {
        warnings: Vec<String>,
    },
    Invalid {
        message: String,
    },
    /// It may not use a Secret that it names.
    Refused {
        message: String,
    },
    Nothing,
}

/// Validates the class if that is due, and adds the result to the report of its reconcile.
pub(crate) async fn check(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    report: Report,
) -> Report {
    let Some(class) = tenant.classes.get(key) else { return report };
    let choice = DriverChoice::of(Some(&class));
    let driver = choice.fact(&*tenant.drivers);
    let is_served = match driver {
        DriverFact::Ready(_) => true,
        // Creation waits for the pinned version, and that one would be asked.
        DriverFact::Substitute { .. } | DriverFact::Refused(_) | DriverFact::NotChosen => false,
    };
    let spec = class_spec(Some(&class), &choice, &driver);
    let refusal = class_secrets::refusal(tenant, &class, &driver);
    let has_result = is_served || refusal.is_some();
    let may_report = has_result && *context.leads.borrow() && class.metadata.deletion_timestamp.is_none();
    if !may_report || tenant.class_checks.knows(key, &spec, refusal.as_ref()) {
        return report;
    }
    let had_problem = tenant.class_checks.has_problem(key) || says_invalid(&class);
    let result = match &refusal {
        Some(refusal) => CheckResult::Refused { message: refusal.to_string() },
        None => ask(tenant, spec.clone()).await,
    };
    let warning = |reason, message| Some((reason, message, Severity::Warning));
    let (event, problem) = match result {
        CheckResult::Nothing => {
            let wake = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
            return Report { wake: if report.wake == Requeue::Gone { report.wake } else { wake }, ..report };
        }
        CheckResult::Refused { message } => (warning(REFUSED, message.clone()), Some((REFUSED, message))),
        CheckResult::Invalid { message } => (warning(INVALID, message.clone()), Some((INVALID, message))),
        CheckResult::Valid { warnings } if !warnings.is_empty() => {
            (warning("ClassWarning", warnings.join("; ")), None)
        }
        CheckResult::Valid { .. } if had_problem => {
            let message = "the driver accepts the class; Machines that waited go on".to_owned();
            (Some(("ClassAccepted", message, Severity::Normal)), None)
        }
        CheckResult::Valid { .. } => (None, None),
    };
    let mut report = report;
    if problem.is_some() || had_problem {
        report.wrote.extend(write_condition(context, &class, problem.as_ref()).await);
    }
    // Of a Secret the Machines say it themselves, under a reason of its own.
    let problem = problem.filter(|(reason, _)| *reason == INVALID).map(|(_, message)| message);
    tenant.class_checks.learn(key, ClassCheck { of: spec, refusal, problem });
    report.events.extend(event.map(|event| about_class(&class, event)));
    report
}

async fn ask(tenant: &TenantState, class: ClassSpec) -> CheckResult {
    match tenant.drivers.validate_class(class).await {
        Ok(warnings) => CheckResult::Valid { warnings },
        Err(CallError::Guest(DriverError { code: Code::InvalidArgument, message, .. })) => {
            CheckResult::Invalid { message }
        }
        Err(CallError::Guest(DriverError { code: Code::Unimplemented, .. })) => {
            CheckResult::Valid { warnings: Vec::new() }
        }
        Err(error @ (CallError::Guest(_) | CallError::Broken(_) | CallError::Refused(_))) => {
            debug!(error = %error, "class not checked");
            CheckResult::Nothing
        }
    }
}

fn about_class(class: &MachineClass, (reason, message, severity): (&'static str, String, Severity)) -> Event {
    let about = About::of(names::CLASS_KIND, &class.metadata);
    Event { severity, ..Event::normal(about, "class", reason, message) }
}

fn says_invalid(class: &MachineClass) -> bool {
    let own = class.status.as_ref().and_then(|status| status.machinist.as_ref());
    own.is_some_and(|own| own.conditions.iter().any(|old| old.type_ == VALID && old.status == "False"))
}

/// For operators: reconciles read the stored result. If the class has no status, as under machine-controller-manager's
/// CRDs, the Event and the Machines report it.
async fn write_condition(
    context: &Context,
    class: &MachineClass,
    problem: Option<&(&str, String)>,
) -> Option<(Kind, String)> {
    let meta = &class.metadata;
    let (status, reason, message) = match problem {
        Some((reason, problem)) => ("False", *reason, crate::events::clip(problem, 2_048)),
        None => ("True", "ClassAccepted", "the driver accepts the class".to_owned()),
    };
    let now = machinist_api::value::time(context.clock.now());
    let status = json!({ "machinist": {
        "observedGeneration": meta.generation,
        "conditions": [{
            "type": VALID, "status": status, "reason": reason, "message": message,
            "observedGeneration": meta.generation, "lastTransitionTime": now,
        }],
    } });
    let api: Api<MachineClass> =
        Api::namespaced(context.control.clone(), meta.namespace.as_deref().unwrap_or_default());
    match merge_status(&api, meta, meta.resource_version.as_deref(), &status).await {
        Ok(class) => class.metadata.resource_version.map(|version| (Kind::Class, version)),
        Err(ActError::Gone) => None,
        Err(error) => {
            debug!(error = %error, "condition of the class not written");
            None
        }
    }
}
