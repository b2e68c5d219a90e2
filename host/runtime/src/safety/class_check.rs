//! Whether drivers can use the classes, and the classes their Secrets.
//!
//! A driver is asked about a class at first sight, when the class changes, and when another version of the driver serves.
//! What it says is kept here for the passes of Machines. A driver that breaks says nothing about a class.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::Api;
use machinist_api::{MachineClass, names};
use machinist_core::driver::ClassSpec;
use machinist_core::driver::error::{CallError, Code, DriverError};
use machinist_core::driver::secret_rule::SecretRefusal;
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::{DriverFact, Requeue, Severity};
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::value::id::{ObjectKey, ProviderName};
use serde_json::json;
use tokio::sync::mpsc;
use tracing::debug;

use crate::driver_calls::class_secrets;
use crate::event_loop::{Kind, Message, Report};
use crate::events::{About, News};
use crate::machine::{Choice, class_spec};
use crate::objects::status_write::merge_status;
use crate::tenant::context::Context;
use crate::tenant::world::World;

/// The condition of a class.
const VALID: &str = "Valid";

/// Its reason where the driver cannot use the class.
const INVALID: &str = "ClassInvalid";

/// What drivers said of the classes.
pub(crate) struct ClassChecks {
    checked: Mutex<BTreeMap<ObjectKey, Checked>>,
    engine: mpsc::UnboundedSender<Message>,
}

/// What a driver said of a class, and of which content.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Checked {
    of: ClassSpec,
    /// A Secret that it may not use. Machines say it of themselves.
    refusal: Option<SecretRefusal>,
    problem: Option<String>,
}

impl Checked {
    fn has_problem(&self) -> bool {
        self.problem.is_some() || self.refusal.is_some()
    }
}

impl ClassChecks {
    /// The loop hears of classes whose Machines must be looked at.
    pub(crate) fn new(engine: mpsc::UnboundedSender<Message>) -> Self {
        Self { checked: Mutex::default(), engine }
    }

    /// What the driver finds wrong with the class.
    pub(crate) fn problem(&self, class: &ObjectKey) -> Option<String> {
        self.lock().get(class)?.problem.clone()
    }

    /// Another version of their drivers may think otherwise.
    pub(crate) fn forget_providers(&self, providers: &[ProviderName]) {
        self.lock().retain(|_, checked| !providers.contains(&checked.of.provider));
    }

    /// The class is gone.
    pub(crate) fn forget(&self, class: &ObjectKey) {
        self.lock().remove(class);
    }

    fn knows(&self, class: &ObjectKey, of: &ClassSpec, refusal: Option<&SecretRefusal>) -> bool {
        let is_it = |checked: &Checked| checked.of == *of && checked.refusal.as_ref() == refusal;
        self.lock().get(class).is_some_and(is_it)
    }

    /// True if the class was found wrong, by its driver or for its Secrets.
    fn has_problem(&self, class: &ObjectKey) -> bool {
        self.lock().get(class).is_some_and(Checked::has_problem)
    }

    fn learn(&self, class: &ObjectKey, checked: Checked) {
        let is_valid = !checked.has_problem();
        let before = self.lock().insert(class.clone(), checked);
        let was_valid = before.is_none_or(|before| !before.has_problem());
        // Another problem is as good a reason to look as the end of one: Machines say what is wrong.
        if !(is_valid && was_valid) {
            // A closed inbox means that the loop has ended.
            let _ = self.engine.send(Message::ClassChecked(class.clone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Checked>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the driver answered.
enum Verdict {
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
    /// Nothing that concerns the class.
    Nothing,
}

/// Has the class checked if that is due, and adds to the report of its pass what there is to tell.
pub(crate) async fn check(world: &World, context: &Context, key: &ObjectKey, report: Report) -> Report {
    let Some(class) = world.classes.get(key) else { return report };
    let choice = Choice::of(Some(&class));
    let driver = choice.fact(&*world.drivers);
    let is_served = match driver {
        DriverFact::Ready(_) => true,
        // Creation waits for the pinned version, and that one would be asked.
        DriverFact::Substitute { .. } | DriverFact::Refused(_) | DriverFact::NotChosen => false,
    };
    let spec = class_spec(Some(&class), &choice, &driver);
    let refusal = class_secrets::refusal(world, &class, &driver);
    let has_word = is_served || refusal.is_some();
    let may_tell = has_word && *context.leads.borrow() && class.metadata.deletion_timestamp.is_none();
    if !may_tell || world.class_checks.knows(key, &spec, refusal.as_ref()) {
        return report;
    }
    let had_problem = world.class_checks.has_problem(key) || says_invalid(&class);
    let verdict = match &refusal {
        Some(refusal) => Verdict::Refused { message: refusal.to_string() },
        None => ask(world, spec.clone()).await,
    };
    let (news, problem) = match verdict {
        Verdict::Nothing => {
            let wake = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
            return Report { wake: if report.wake == Requeue::Gone { report.wake } else { wake }, ..report };
        }
        Verdict::Refused { message } => {
            (Some(("SecretRefused", message.clone(), Severity::Warning)), Some(("SecretRefused", message)))
        }
        Verdict::Invalid { message } => {
            (Some((INVALID, message.clone(), Severity::Warning)), Some((INVALID, message)))
        }
        Verdict::Valid { warnings } if !warnings.is_empty() => {
            (Some(("ClassWarning", warnings.join("; "), Severity::Warning)), None)
        }
        Verdict::Valid { .. } if had_problem => {
            let message = "the driver accepts the class; Machines that waited go on".to_owned();
            (Some(("ClassAccepted", message, Severity::Normal)), None)
        }
        Verdict::Valid { .. } => (None, None),
    };
    let mut report = report;
    if problem.is_some() || had_problem {
        report.wrote.extend(write_condition(context, &class, problem.as_ref()).await);
    }
    // Of a Secret the Machines say it themselves, under a reason of its own.
    let problem = problem.filter(|(reason, _)| *reason == INVALID).map(|(_, message)| message);
    world.class_checks.learn(key, Checked { of: spec, refusal, problem });
    report.news.extend(news.map(|news| about_class(&class, news)));
    report
}

/// Asks the driver.
async fn ask(world: &World, class: ClassSpec) -> Verdict {
    match world.drivers.validate_class(class).await {
        Ok(warnings) => Verdict::Valid { warnings },
        Err(CallError::Guest(DriverError { code: Code::InvalidArgument, message, .. })) => {
            Verdict::Invalid { message }
        }
        Err(CallError::Guest(DriverError { code: Code::Unimplemented, .. })) => {
            Verdict::Valid { warnings: Vec::new() }
        }
        Err(error @ (CallError::Guest(_) | CallError::Broken(_) | CallError::Refused(_))) => {
            debug!(error = %error, "class not checked");
            Verdict::Nothing
        }
    }
}

fn about_class(class: &MachineClass, (reason, message, severity): (&'static str, String, Severity)) -> News {
    News {
        at: None,
        about: about(class),
        topic: "class",
        reason,
        message,
        same: None,
        repeats: false,
        is_mute: false,
        is_implied: false,
        is_deed: false,
        is_known: false,
        severity,
    }
}

fn says_invalid(class: &MachineClass) -> bool {
    let own = class.status.as_ref().and_then(|status| status.machinist.as_ref());
    own.is_some_and(|own| own.conditions.iter().any(|old| old.type_ == VALID && old.status == "False"))
}

fn about(class: &MachineClass) -> About {
    let meta = &class.metadata;
    About {
        api_version: names::API_VERSION.to_owned(),
        kind: names::CLASS_KIND.to_owned(),
        namespace: meta.namespace.clone().unwrap_or_default(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
    }
}

/// For people: passes read what is kept here. Where the class has no status, as under machine-controller-manager's CRDs, the
/// Event and the Machines tell it.
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
