//! Validation rules in CEL, for the generated definitions: an API server refuses objects that break them.
//!
//! An API server checks the rules with every write, and nobody can fix an object whose every write is refused. So an
//! object that breaks a rule, and broke it before, can still be written in every other way. There are two means,
//! decision 24:
//!
//! - A [`Past::Equal`] rule is at a field that only users write. The server itself accepts an invalid value that did
//!   not change.
//! - A [`Past::Wrong`] or [`Past::Same`] rule compares with the stored object, and accepts a value that was invalid in
//!   the same way. So it may be above fields that a controller writes, and programs that leave out empty fields may
//!   write the object. It may also be at a whole object, and then reports missing fields and fields that contradict
//!   each other.
//!
//! For every kind that can be scaled, an API server itself refuses a negative `spec.replicas`. No rule is about a field
//! that a controller may have to copy from a template.

use serde_json::{Value, json};

/// A rule for one kind.
pub(crate) struct Rule {
    /// The path of the field: names from the root, none for the root itself, and `[]` for the items of a list or the
    /// values of a map.
    pub(crate) at: String,
    holds: String,
    past: Past,
    /// The field that the error names, seen from `at`.
    about: &'static str,
    reason: &'static str,
    message: &'static str,
}

/// How a rule treats a stored value.
enum Past {
    /// It accepts a value that is equal to the stored one.
    Equal,
    /// It accepts an invalid value where the stored one was invalid too.
    Wrong,
    /// It accepts a value that is the same as the stored one by this expression. For rules that an API server estimates
    /// as too expensive to check on the stored object as well.
    Same(String),
}

/// The text in `holds` that is replaced by the value at the rule's field.
const IT: &str = "{it}";

impl Rule {
    pub(crate) fn of_value(at: impl Into<String>, holds: &str, message: &'static str) -> Self {
        let (at, holds) = (at.into(), holds.to_owned());
        Self { at, holds, past: Past::Equal, about: "", reason: "FieldValueInvalid", message }
    }

    fn of_field(at: &str, about: &'static str, holds: String, message: &'static str) -> Self {
        Self { at: at.into(), holds, past: Past::Wrong, about, reason: "FieldValueInvalid", message }
    }

    fn requires(at: &str, about: &'static str, holds: String, message: &'static str) -> Self {
        Self { reason: "FieldValueRequired", ..Self::of_field(at, about, holds, message) }
    }

    /// Returns the entry of `x-kubernetes-validations`.
    pub(crate) fn json(&self) -> Value {
        let now = self.holds.replace(IT, "self");
        let mut json = json!({ "rule": now, "message": self.message, "reason": self.reason });
        if !self.about.is_empty() {
            json["fieldPath"] = format!(".{}", self.about).into();
        }
        let before = match &self.past {
            Past::Equal => return json,
            Past::Wrong => format!("!({})", self.holds.replace(IT, "oldSelf.value()")),
            Past::Same(when) => when.clone(),
        };
        json["rule"] = format!("{now} || (oldSelf.hasValue() && {before})").into();
        json["optionalOldSelf"] = true.into();
        json
    }
}

pub(crate) fn of_machine() -> Vec<Rule> {
    class("spec.class", "name", "kind").into()
}

pub(crate) fn of_machine_class() -> Vec<Rule> {
    let mut rules = vec![Rule::of_value(
        "nodeTemplate.capacity",
        "'cpu' in self && 'gpu' in self && 'memory' in self",
        "cpu, gpu or memory is missing: name all three, 0 for what there is none of",
    )];
    for field in ["instanceType", "region", "zone"] {
        let message = "empty: say what Nodes of this class will have, or leave out nodeTemplate";
        rules.push(Rule::of_value(format!("nodeTemplate.{field}"), "self != ''", message));
    }
    rules
}

pub(crate) fn of_machine_set() -> Vec<Rule> {
    let mut rules: Vec<Rule> = class("spec.template", "spec.class.name", "spec.class.kind").into();
    rules.extend([selector(), template(), fit()]);
    rules.extend(expressions());
    rules
}

pub(crate) fn of_machine_deployment() -> Vec<Rule> {
    let mut rules: Vec<Rule> = class("spec.template", "spec.class.name", "spec.class.kind").into();
    rules.extend(durations());
    rules.extend([selector(), missing_strategy(), fit()]);
    rules.push(Rule::of_field(
        "spec.selector",
        "",
        "(has({it}.matchLabels) && size({it}.matchLabels) > 0) \
         || (has({it}.matchExpressions) && size({it}.matchExpressions) > 0)"
            .to_owned(),
        "empty, which would select every Machine: set matchLabels to labels of spec.template.metadata",
    ));
    rules.extend(expressions());
    rules.extend(strategy());
    rules
}

/// No Machine can be created from a template that has no class or names none.
fn class(at: &str, name: &'static str, kind: &'static str) -> [Rule; 2] {
    let is_set = |field: &str| format!("{IT}.?{}.orValue('') != ''", field.replace('.', ".?"));
    [
        Rule::requires(at, name, is_set(name), "name a MachineClass of this namespace"),
        Rule::requires(at, kind, is_set(kind), "set it to MachineClass"),
    ]
}

/// A field of the `spec`. The rule is at the object, since a `spec` that was missing has no past of its own.
fn required(field: &'static str, message: &'static str) -> Rule {
    let name = field.strip_prefix("spec.").unwrap_or(field);
    Rule::requires("", field, format!("{IT}.?spec.?{name}.hasValue()"), message)
}

/// machine-controller-manager crashes where there is none.
fn selector() -> Rule {
    required("spec.selector", "set matchLabels to labels of spec.template.metadata")
}

fn template() -> Rule {
    required("spec.template", "set labels and a class for the Machines")
}

/// There is no default.
fn missing_strategy() -> Rule {
    required("spec.strategy", "set its type to RollingUpdate, Recreate or InPlaceUpdate")
}

/// Machines that their owner does not select are never found again, so that none is made. Only asked of what is new: an
/// API server cannot tell what asking it of what was would cost, and stored objects get the label of their hash in two
/// writes.
fn fit() -> Rule {
    let (selected, labels) =
        (format!("{IT}.spec.selector.matchLabels"), format!("{IT}.spec.template.metadata.labels"));
    let is_label = format!("label in {labels} && {labels}[label] == {selected}[label]");
    let holds = format!(
        "(!{IT}.?spec.?selector.?matchLabels.hasValue() || size({selected}) == 0 \
         || ({IT}.?spec.?template.?metadata.?labels.hasValue() && {selected}.all(label, {is_label})))"
    );
    let message =
        "not the labels of spec.template.metadata, so that no Machine would be found again: set equal labels";
    let past = Past::Same("true".to_owned());
    Rule { past, ..Rule::of_field("", "spec.selector.matchLabels", holds, message) }
}

/// Durations of a deployment's template. Sets and Machines get theirs handed down.
fn durations() -> impl Iterator<Item = Rule> {
    const IS_DURATION: &str =
        r"self.matches('^[-+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')";
    let fields = [
        "creationTimeout", "drainTimeout", "healthTimeout", "inPlaceUpdateTimeout", "machinePreserveTimeout",
    ];
    fields.into_iter().map(|field| {
        let message = "not a duration: write numbers, each with one of the units h, m, s, ms, us and ns, such as 20m or 1h30m";
        Rule::of_value(format!("spec.template.spec.{field}"), IS_DURATION, message)
    })
}

/// A selector that cannot be understood selects nothing, and nothing is done for its object.
fn expressions() -> [Rule; 3] {
    const ITEM: &str = "spec.selector.matchExpressions.[]";
    [
        Rule::of_value(format!("{ITEM}.key"), "self != ''", "empty: name a label"),
        Rule::of_value(
            format!("{ITEM}.operator"),
            "self == 'In' || self == 'NotIn' || self == 'Exists' || self == 'DoesNotExist'",
            "not known: set it to In, NotIn, Exists or DoesNotExist",
        ),
        Rule::of_value(
            ITEM,
            "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 \
             : !(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
            "In and NotIn need values, Exists and DoesNotExist have none",
        ),
    ]
}

/// The fields that a strategy needs depend on its type; fields of another type are not checked.
fn strategy() -> Vec<Rule> {
    const AT: &str = "spec.strategy";
    const TYPE: &str = "set it to RollingUpdate, Recreate or InPlaceUpdate";
    const SHARE: &str = "set it to a number of at least 0 such as 1, or to a share such as 25%";
    let mut rules = vec![
        Rule::requires(AT, "type", format!("{IT}.?type.orValue('') != ''"), TYPE),
        Rule::of_value(
            format!("{AT}.type"),
            "self in ['', 'RollingUpdate', 'Recreate', 'InPlaceUpdate']",
            TYPE,
        ),
    ];
    let bounds = [
        ("RollingUpdate", "rollingUpdate", "rollingUpdate.maxSurge", "rollingUpdate.maxUnavailable"),
        ("InPlaceUpdate", "inPlaceUpdate", "inPlaceUpdate.maxSurge", "inPlaceUpdate.maxUnavailable"),
    ];
    for (kind, place, surge, unavailable) in bounds {
        let is_other = format!("{IT}.?type.orValue('') != '{kind}'");
        let message = "missing for this type: set maxSurge and maxUnavailable there";
        rules.push(Rule::requires(AT, place, format!("({is_other} || has({IT}.{place}))"), message));
        for share in [surge, unavailable] {
            let holds =
                format!("{is_other} || !has({IT}.{place}) || (has({IT}.{share}) && {})", is_share(share));
            let past = Past::Same(is_same_share(kind, place, share));
            rules.push(Rule { past, ..Rule::of_field(AT, share, holds, SHARE) });
        }
    }
    let who = "inPlaceUpdate.orchestrationType";
    let is_known = format!(
        "{IT}.?type.orValue('') != 'InPlaceUpdate' || !has({IT}.inPlaceUpdate) \
         || {IT}.?inPlaceUpdate.?orchestrationType.orValue('') in ['Auto', 'Manual']"
    );
    rules.push(Rule::of_field(AT, who, format!("({is_known})"), "set it to Auto or Manual"));
    rules
}

/// As `core::int_or_percent` reads it.
fn is_share(field: &str) -> String {
    let field = format!("{IT}.{field}");
    format!(r"(type({field}) == string ? {field}.matches('^\\s*0*[0-9]{{1,10}}%?\\s*$') : {field} >= 0)")
}

/// It was there for the same type, and was the same, or was missing as well.
fn is_same_share(kind: &str, place: &str, share: &str) -> String {
    let (now, before) = (format!("self.{share}"), format!("oldSelf.value().{share}"));
    format!(
        "oldSelf.value().?type.orValue('') == '{kind}' && has(oldSelf.value().{place}) \
         && has({now}) == has({before}) && (!has({now}) || {now} == {before})"
    )
}
