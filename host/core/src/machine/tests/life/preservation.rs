//! Preservation requests, applied before there is a Node.

use expect_test::expect;

use crate::driver::Creation;
use crate::driver::error::Code;
use crate::machine::MachineOutcome;

use crate::machine::tests::facts::{CREATION_TIMEOUT_SECONDS, broken, guest, in_progress};
use crate::machine::tests::{Case, begun, check, creating, seconds};

fn wishing(case: Case, request: &str) -> Case {
    case.with(|view| view.machine.preservation.request = Some(request.into()))
}

fn too_late() -> Case {
    begun().at(CREATION_TIMEOUT_SECONDS + 1)
}

#[test]
fn a_machine_that_the_cloud_does_not_make_is_kept_in_the_write_that_says_that_it_failed() {
    let refused = MachineOutcome::CreateVm(Err(guest(Code::ResourceExhausted)));
    check(
        &wishing(too_late(), "when-failed").on(refused.clone()),
        &expect![[r#"
            act probe-vm
            act ensure-token
            act create-vm
            CreationFailed: machine codes error: code = [ResourceExhausted] message = [so it is]
            status: phase Failed, Create Failed CreationFailed { error: "machine codes error: code = [ResourceExhausted] message = [so it is]" }, code ResourceExhausted, preserved until 1971-01-05T00:20:01Z, Preserved=True Preserved (kept until 1971-01-05T00:20:01Z, since somebody asked for it)
            again at once
        "#]],
    );
    let working = MachineOutcome::CreateVm(Ok(Creation::InProgress(in_progress(jiff::SignedDuration::ZERO))));
    for request in ["now", "when-failed", "auto-preserved"] {
        for answer in [&refused, &working] {
            let text = wishing(too_late(), request).on(answer.clone()).report();
            assert!(text.contains("phase Failed") && text.contains("preserved until"), "{request}: {text}");
        }
    }
    for request in ["", "false", "what"] {
        let text = wishing(too_late(), request).on(refused.clone()).report();
        assert!(text.contains("phase Failed") && !text.contains("preserved until"), "{request}: {text}");
    }
}

#[test]
fn now_is_applied_from_the_first_pass_on_and_other_wishes_wait_for_a_failure() {
    for case in [creating(), begun(), creating().on(MachineOutcome::CreateVm(Err(broken())))] {
        assert!(wishing(case.clone(), "now").report().contains("preserved until"));
        for request in ["when-failed", "auto-preserved"] {
            assert_eq!(wishing(case.clone(), request).report(), case.report(), "{request}");
        }
    }
}

#[test]
fn a_wish_that_is_taken_back_during_creation_ends_and_one_whose_time_is_over_does_not_begin_again() {
    let kept = |request: Option<&str>, until| {
        let fails = creating().at(100).on(MachineOutcome::CreateVm(Err(broken())));
        fails.with(|view| {
            view.machine.phase = crate::value::phase::Phase::CrashLoopBackOff;
            view.machine.preservation.request = request.map(str::to_owned);
            view.machine.preservation.until = Some(seconds(until));
        })
    };
    let ended = kept(None, 900).report();
    assert!(ended.contains("preserved no more") && ended.contains("Preserved=False Stopped"), "{ended}");
    let over = kept(Some("now"), 90).report();
    assert!(!over.contains("preserved"), "it would be kept again at once: {over}");
    check(
        &kept(Some("now"), 900),
        &expect![[r#"
        act claim
        act ensure-token
        act create-vm
        DriverBroken: the plugin hit its deadline limit (5m)
        status: Create Failed CreationFailed { error: "the plugin hit its deadline limit (5m)" }, code DeadlineExceeded, Preserved=True Preserved (kept until 1971-01-01T00:15:00Z, since somebody asked for it)
        retry from 5s to 2m0s
    "#]],
    );
}
