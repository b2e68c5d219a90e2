//! Reconciles of a template, by facts and outcomes.

use super::*;
use crate::driver::Architecture;
use crate::driver::error::Code;
use crate::machine::tests::facts::{self, guest};
use crate::value::id::ClassName;

fn view() -> InfraTemplateView {
    let mut driver = facts::view().driver;
    let DriverFact::Ready(ready) = &mut driver else { panic!("{driver:?}") };
    ready.capabilities.capacity = true;
    InfraTemplateView {
        is_deleting: false,
        class: ClassFact::Ready(ClassName::from("small")),
        driver,
        identity: IdentityFact::Ready,
        stored: NodeResources::default(),
    }
}

fn resources(cpu: &str) -> NodeResources {
    let all = [("cpu", cpu), ("memory", "8Gi")];
    NodeResources {
        resources: all.into_iter().map(|(name, is)| (name.to_owned(), is.to_owned())).collect(),
        architecture: Some(Architecture::Amd64),
        operating_system: Some("linux".to_owned()),
    }
}

/// Runs a reconcile in which the driver answers this. Returns whether it was asked, and the end.
fn run(view: &InfraTemplateView, answer: DriverResult<NodeResources>) -> (bool, InfraTemplateConclusion) {
    let mut progress = InfraTemplateProgress::default();
    match step(view, &progress) {
        Step::Finish(end) => (false, end),
        Step::Act(effects) => {
            assert_eq!(effects, [InfraTemplateEffect::AskCapacity]);
            progress.capacity = Some(answer);
            match step(view, &progress) {
                Step::Finish(end) => (true, end),
                Step::Act(effects) => panic!("again {effects:?}"),
            }
        }
    }
}

#[test]
fn resources_are_written_when_they_differ_and_not_in_another_form() {
    let (asked, end) = run(&view(), Ok(resources("2")));
    assert_eq!((asked, end.reason), (true, InfraTemplateReason::CapacityKnown));
    assert_eq!((end.resources, end.wake), (Some(resources("2")), Requeue::Resync));
    let stored = |stored: NodeResources| InfraTemplateView { stored, ..view() };
    assert_eq!(run(&stored(resources("2000m")), Ok(resources("2"))).1.resources, None);
    assert_eq!(run(&stored(resources("4")), Ok(resources("2"))).1.resources, Some(resources("2")));
    let other = NodeResources { architecture: None, ..resources("2") };
    assert_eq!(run(&stored(resources("2")), Ok(other.clone())).1.resources, Some(other));
    let mut more = resources("2");
    more.resources.insert("pods".to_owned(), "110".to_owned());
    assert_eq!(run(&stored(more), Ok(resources("2"))).1.resources, Some(resources("2")), "one is gone");
}

#[test]
fn without_an_answer_the_status_stays_and_the_driver_is_asked_again_seldom() {
    let (asked, end) = run(&view(), Err(guest(Code::NotFound)));
    assert_eq!((asked, end.reason, end.resources), (true, InfraTemplateReason::CapacityUnknown, None));
    assert_eq!(end.wake, Requeue::Retry { policy: RetryPolicy::TERMINAL, hint: None });
    let outage = run(&view(), Err(guest(Code::Unavailable))).1;
    assert_eq!(outage.wake, Requeue::Retry { policy: RetryPolicy::LONG, hint: None });
}

#[test]
fn nobody_is_asked_before_class_driver_and_credentials_are_there() {
    type Change = fn(&mut InfraTemplateView);
    let rows: [(InfraTemplateReason, Change); 5] = [
        (InfraTemplateReason::CapacityNotOffered, |view| view.is_deleting = true),
        (InfraTemplateReason::CapacityWaits, |view| {
            let name = ClassName::from("small");
            view.class = ClassFact::Invalid { name, message: "no provider".into() };
        }),
        (InfraTemplateReason::CapacityWaits, |view| view.driver = DriverFact::NotChosen),
        (InfraTemplateReason::CapacityNotOffered, |view| view.driver = facts::view().driver),
        (InfraTemplateReason::CapacityWaits, |view| view.identity = IdentityFact::Missing("no".into())),
    ];
    for (reason, change) in rows {
        let mut view = view();
        change(&mut view);
        let (asked, end) = run(&view, Ok(resources("2")));
        assert_eq!((asked, end.reason, end.resources), (false, reason, None));
        assert!(!end.message.is_empty());
    }
}
