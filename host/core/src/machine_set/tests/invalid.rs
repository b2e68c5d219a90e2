//! Specs that nothing is done for.

use expect_test::expect;

use crate::machine_set::{SetSelectorFact, TemplateFact};

use super::facts::{child, labels, selector};
use super::{Case, check, running, seconds, set};

/// It would have to make, delete and let go of Machines, and does nothing.
fn reported(case: Case) -> String {
    let case = case.with(|view| view.machines = vec![child(0).failed(), child(1)]);
    let (batches, conclusion) = case.pass();
    assert!(batches.is_empty(), "{batches:?}");
    assert_eq!((conclusion.status.replicas, conclusion.status.observed_generation), (2, Some(7)));
    format!("{}: {}", conclusion.reason.as_str(), conclusion.message)
}

#[test]
fn every_mistake_is_named_with_what_to_fix_and_touches_no_machine() {
    let rows = [
        reported(set(-3, [])),
        reported(set(9, []).with(|view| view.set.template = None)),
        reported(set(9, []).with(|view| view.set.template = Some(TemplateFact::default()))),
        reported(set(9, []).with(|view| view.set.selector = SetSelectorFact::Missing)),
        reported(set(9, []).with(|view| view.set.selector = SetSelectorFact::Invalid("no such word".into()))),
        reported(set(9, []).with(|view| view.set.selector = selector(&[]))),
        reported(set(9, []).with(|view| view.set.selector = selector(&[("pool", "b")]))),
    ];
    expect![[r#"
        InvalidMachineSet: spec.replicas is -3: set it to 0 or more
        InvalidMachineSet: spec.template is missing: describe the Machines there
        ClassNotNamed: spec.template.spec.class.name is missing: name a MachineClass
        InvalidMachineSet: spec.selector is missing: select labels of spec.template.metadata
        InvalidMachineSet: spec.selector cannot be understood: no such word
        SelectsEverything: spec.selector is empty and would select every Machine of the namespace: select labels of spec.template.metadata
        SelectorMismatch: spec.selector does not select the labels of spec.template.metadata, so that the set would never find the Machines that it makes: make them agree"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn a_set_that_is_fixed_goes_on() {
    let broken = set(3, running(2)).with(|view| view.set.selector = selector(&[("pool", "b")]));
    assert_eq!(broken.ordinals(), [0; 0]);
    assert_eq!(broken.with(|view| view.set.selector = selector(&[("pool", "a")])).ordinals(), [2]);
}

#[test]
fn an_invalid_set_can_be_deleted() {
    let broken = set(-1, running(1)).with(|view| {
        view.set.selector = SetSelectorFact::Missing;
        view.set.template = None;
        view.set.deletion = Some(seconds(1));
    });
    check(
        &broken,
        &expect![[r#"
            act delete m0 SetDeleted
            Deleting Now
            the set is being deleted: it goes when its Machines are gone
        "#]],
    );
}

#[test]
fn a_template_that_was_edited_by_hand_counts_for_machines_to_come() {
    // Labels beyond the selector may change: those that are there stay the set's and are not fully labelled any more.
    let edited = set(3, running(2)).with(|view| {
        let template =
            TemplateFact { labels: labels(&[("pool", "a"), ("more", "y")]), class: Some("v2".into()) };
        view.set.template = Some(template);
    });
    assert_eq!(edited.ordinals(), [2]);
    let status = edited.pass().1.status;
    assert_eq!((status.replicas, status.fully_labeled), (2, 0));
}
