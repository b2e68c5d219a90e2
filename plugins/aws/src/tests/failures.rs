//! Failures as the host and people see them.

use machinist_sdk::bindings::provider::wasi::http::types::ErrorCode;
use machinist_sdk::driver::{Code, Failure, NoAnswer, NoAnswerReason, quoted_up_to as quoted};

use super::harness::{Fault, Harness, answer, request, with_id};
use super::model::refused;
use crate::ec2::Answer;
use crate::ec2::error_codes::{self, Completion};
use crate::ec2::errors::Target;
use crate::ec2::lost_answers::explanation;

fn launch_under(fault: Fault) -> Failure {
    let harness = Harness::new();
    harness.fault("RunInstances", fault);
    let error = harness.begin(&request(1)).unwrap_err();
    assert!(!error.message.contains('<') && error.message.chars().count() < 700, "{}", error.message);
    error
}

fn said(answer: Answer) -> Failure {
    launch_under(Fault::Instead(Ok(answer)))
}

#[test]
fn every_row_of_the_table_reaches_the_host() {
    for row in error_codes::TABLE
        .iter()
        .filter(|row| ![error_codes::MISMATCH, error_codes::TERMINATED].contains(&row.name))
    {
        let name = row.name.replace('*', "Something");
        // The code is more exact than the status: capacity comes with 500.
        for status in [400, 500, 503] {
            let error = said(answer(refused(status, &name, "because")));
            assert_eq!((error.code, error.terminal), (row.code, row.is_terminal), "{name}");
            assert_eq!(error.may_have_happened, row.outcome == Completion::Unknown, "{name}");
            assert_eq!(error.cloud_code.as_deref(), Some(name.as_str()));
            assert!(
                error.message.contains("because") && error.message.contains(row.advice),
                "{}",
                error.message
            );
        }
    }
}

#[test]
fn codes_that_the_table_does_not_have_are_judged_by_their_status() {
    let table = [
        (400, Code::Internal, false),
        (401, Code::Unauthenticated, false),
        (403, Code::PermissionDenied, false),
        (429, Code::Unavailable, false),
        (500, Code::Unavailable, true),
        (504, Code::DeadlineExceeded, true),
    ];
    for (status, code, happened) in table {
        let error = said(answer(refused(status, "NeverHeardOf", "because")));
        assert_eq!(
            (error.code, error.may_have_happened, error.terminal),
            (code, happened, false),
            "{status}"
        );
    }
}

#[test]
fn a_launch_without_the_right_names_the_rights_and_not_the_encoded_message() {
    let text =
        "You are not authorized to perform this operation. Encoded authorization failure message: Zm9vYmFy";
    let error = said(answer(refused(403, "UnauthorizedOperation", text)));
    assert_eq!(
        error.message,
        "failed to launch the instance: You are not authorized to perform this operation. (UnauthorizedOperation): \
         allow ec2:RunInstances, ec2:CreateTags and iam:PassRole in the IAM policy of the keys or the role"
    );
    let harness = Harness::new();
    harness.refuse("DescribeInstances", 403, "UnauthorizedOperation");
    let error = harness.status(&request(1)).unwrap_err();
    assert!(error.message.ends_with("allow ec2:DescribeInstances in the IAM policy of the keys or the role"));
}

#[test]
fn a_clock_that_is_off_is_named_with_how_far() {
    for code in ["RequestExpired", "AuthFailure", "SignatureDoesNotMatch"] {
        let error = said(Answer { skew_s: Some(600), ..answer(refused(400, code, "because")) });
        assert_eq!((error.code, error.terminal), (Code::Unauthenticated, false), "{code}");
        assert!(
            error.message.contains("off by 600 seconds") && error.message.contains("NTP"),
            "{}",
            error.message
        );
        let error = said(Answer { skew_s: Some(3), ..answer(refused(400, code, "because")) });
        assert!(!error.message.contains("seconds"), "{}", error.message);
    }
}

#[test]
fn throttling_passes_the_pause_on_and_has_not_happened() {
    let harness = Harness::new();
    let busy = Answer { retry_after_ms: Some(7_000), ..answer(refused(503, "RequestLimitExceeded", "slow")) };
    let bare = Answer { retry_after_ms: Some(7_000), ..answer((429, "slow".into())) };
    for answer in [busy, bare] {
        harness.fault("RunInstances", Fault::Instead(Ok(answer)));
        let error = harness.begin(&request(1)).unwrap_err();
        assert_eq!((error.code, error.retry_after_ms), (Code::Unavailable, Some(7_000)));
        assert_eq!((error.may_have_happened, error.terminal), (false, false));
    }
    assert!(harness.live().is_empty());
}

#[test]
fn what_the_host_could_not_sign_has_not_happened_and_says_why() {
    let sts = |code: &str| {
        let body = format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>because</Message></Error></ErrorResponse>"
        );
        Answer { is_unsigned: true, ..answer((403, body)) }
    };
    let text = |status, text: &str| Answer { is_unsigned: true, ..answer((status, text.into())) };
    let table = [
        (sts("AccessDenied"), Code::Unauthenticated, "sts:AssumeRoleWithWebIdentity"),
        (sts("InvalidIdentityToken"), Code::Unauthenticated, "identity provider"),
        (sts("ExpiredTokenException"), Code::Unauthenticated, "workloadIdentityTokenFile"),
        (sts("Throttling"), Code::Unavailable, "more slowly"),
        (text(401, "the token file /var/run/x is missing: mount it"), Code::Unauthenticated, "mount it"),
        (text(503, "busy"), Code::Unavailable, "busy"),
        (
            Answer { is_html: true, ..text(502, "<html>secret page</html>") },
            Code::Unavailable,
            "a page with status 502",
        ),
    ];
    for (answer, code, word) in table {
        let error = said(answer);
        assert_eq!((error.code, error.may_have_happened, error.terminal), (code, false, false), "{word}");
        assert!(
            error.message.contains("got no credentials") && error.message.contains(word),
            "{}",
            error.message
        );
    }
}

#[test]
fn an_outage_behind_a_page_is_no_absence() {
    let page = |status| Answer { is_html: true, ..answer((status, "<html>nothing here</html>".into())) };
    let harness = Harness::new();
    let request = with_id(&request(1), &harness.create(&request(1)).unwrap());
    for status in [200, 403, 404, 500, 503] {
        harness.fault("DescribeInstances", Fault::Instead(Ok(page(status))));
        let error = harness.status(&request).unwrap_err();
        assert_eq!((error.code, error.may_have_happened), (Code::Unavailable, false), "{status}");
        harness.fault("TerminateInstances", Fault::Instead(Ok(page(status))));
        let error = harness.delete(&request).unwrap_err();
        assert_eq!((error.code, error.may_have_happened), (Code::Unavailable, true), "{status}");
    }
}

#[test]
fn what_was_not_sent_did_not_happen_and_what_may_have_been_sent_may_have() {
    let target = |is_override| Target {
        host: "ec2.eu-nowhere-1.example".into(),
        region: "eu-nowhere-1".into(),
        is_override,
    };
    let unknown = "region eu-nowhere-1 is unknown or the plugin's grants do not allow its host ec2.eu-nowhere-1.example";
    let table = [
        (ErrorCode::HttpRequestDenied, Code::FailedPrecondition, false, unknown),
        (ErrorCode::DnsTimeout, Code::Unavailable, false, unknown),
        (ErrorCode::DestinationNotFound, Code::Unavailable, false, unknown),
        (ErrorCode::DestinationIpProhibited, Code::FailedPrecondition, false, "addresses"),
        (ErrorCode::HttpRequestUriInvalid, Code::FailedPrecondition, false, "endpoint"),
        (ErrorCode::HttpRequestBodySize(Some(9)), Code::InvalidArgument, false, "user data"),
        (ErrorCode::ConnectionRefused, Code::Unavailable, false, "refuses"),
        (ErrorCode::ConnectionTimeout, Code::Unavailable, false, "network"),
        (ErrorCode::TlsCertificateError, Code::Unavailable, false, "certificate"),
        (ErrorCode::HttpResponseTimeout, Code::DeadlineExceeded, true, "in time"),
        (ErrorCode::ConnectionTerminated, Code::Unavailable, true, "ended"),
        (ErrorCode::HttpResponseBodySize(None), Code::Internal, true, "larger"),
        (ErrorCode::InternalError(Some("unexpected".into())), Code::Unknown, true, "unexpected"),
    ];
    for (code, expected, sent, word) in table {
        let reason = NoAnswerReason::of(&code);
        let no_answer = NoAnswer { reason: reason.clone(), host: "ec2.eu-nowhere-1.example".into() };
        assert_eq!((reason.code(), reason.may_have_been_sent()), (expected, sent), "{code:?}");
        let text = explanation(&no_answer, "RunInstances", &target(false));
        assert!(text.contains(word) && text.contains("ec2.eu-nowhere-1.example"), "{code:?}: {text}");
        let error = launch_under(Fault::Instead(Err(no_answer.clone())));
        assert_eq!((error.code, error.may_have_happened), (expected, sent), "{code:?}");
        let text = explanation(&no_answer, "RunInstances", &target(true));
        assert!(!text.contains("is unknown") && text.contains("ec2.eu-nowhere-1.example"), "{text}");
    }
}

#[test]
fn what_the_cloud_wrote_is_quoted_in_part_and_in_one_line() {
    let long = quoted(&"ä\n".repeat(500), 100);
    assert_eq!(long.chars().count(), 100);
    assert!(!long.contains('\n') && long.ends_with('…'));
    assert_eq!((quoted("short", 5), quoted("longer", 5)), ("short".to_owned(), "long…".to_owned()));
    let error = said(answer(refused(400, &"C".repeat(9_000), &"m".repeat(9_000))));
    assert!(error.message.len() < 500 && error.into_record().cloud_code.unwrap().len() < 100);
}
