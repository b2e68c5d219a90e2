//! Answers of the runtime as messages, and its errors as gRPC has them.

use machinist_core::autoscaler::creation_error::CreationError;
use machinist_core::autoscaler::member::{Instance, InstanceState};
use machinist_core::autoscaler::refusal::RefusalCode;
use machinist_core::driver::write_error::ActError;
use machinist_core::value::error_chain::chain;
use machinist_runtime::autoscaler::{CallError, GroupSummary};
use tonic::{Code, Status};

use crate::messages;
use crate::messages::instance_status::InstanceState as State;

pub(crate) fn node_group(group: &GroupSummary) -> messages::NodeGroup {
    let GroupSummary { id, limits, replicas } = group;
    let debug = format!("{id}: {replicas} replicas, {} to {}", limits.min, limits.max);
    messages::NodeGroup { id: id.to_string(), min_size: limits.min, max_size: limits.max, debug }
}

pub(crate) fn instance(instance: Instance) -> messages::Instance {
    let state = match instance.state {
        InstanceState::Running => State::InstanceRunning,
        InstanceState::Creating => State::InstanceCreating,
        InstanceState::Deleting => State::InstanceDeleting,
    };
    let error_info =
        instance.error.map(|CreationError { class, code, message }| messages::InstanceErrorInfo {
            error_code: code.to_owned(),
            error_message: message,
            instance_error_class: class.number(),
        });
    let status = messages::InstanceStatus { instance_state: state.into(), error_info };
    messages::Instance { id: instance.id, status: Some(status) }
}

/// The code that says whether a repeat helps, and the error with its causes.
pub(crate) fn status(error: &CallError) -> Status {
    let code = match error {
        CallError::NotLeading | CallError::NotReady => Code::Unavailable,
        CallError::Refused(refusal) => match refusal.code() {
            RefusalCode::InvalidArgument => Code::InvalidArgument,
            RefusalCode::NotFound => Code::NotFound,
            RefusalCode::OutOfRange => Code::OutOfRange,
            RefusalCode::FailedPrecondition => Code::FailedPrecondition,
            RefusalCode::Unimplemented => Code::Unimplemented,
        },
        CallError::Contended { .. } => Code::Aborted,
        CallError::Late => Code::DeadlineExceeded,
        CallError::Write { source, .. } => match source {
            ActError::Conflict => Code::Aborted,
            ActError::Gone => Code::NotFound,
            ActError::Denied { .. } => Code::PermissionDenied,
            ActError::Invalid { .. } => Code::FailedPrecondition,
            ActError::Throttled { .. }
            | ActError::Unreachable { .. }
            | ActError::Ambiguous { .. }
            | ActError::Forbidden { .. } => Code::Unavailable,
        },
    };
    let hint = if code == Code::PermissionDenied { ": apply deploy/autoscaler" } else { "" };
    Status::new(code, format!("{}{hint}", chain(error)))
}

#[cfg(test)]
mod tests {
    use machinist_core::autoscaler::refusal::CallRefusal;

    use super::*;

    #[test]
    fn each_error_has_a_code_and_says_what_to_do() {
        let id = || "mcm/shoot/pool".parse().unwrap();
        let write = |source| CallError::Write { what: "mcm/shoot/pool".into(), source };
        let message = || "m".to_owned();
        for (error, code, part) in [
            (CallError::NotLeading, Code::Unavailable, "connect again"),
            (CallError::NotReady, Code::Unavailable, "try again"),
            (CallRefusal::InvalidId { id: "a".into() }.into(), Code::InvalidArgument, "NodeGroups"),
            (CallRefusal::UnknownGroup { id: id() }.into(), Code::NotFound, "annotations"),
            (CallRefusal::Rolling { id: id() }.into(), Code::FailedPrecondition, "rolled"),
            (CallRefusal::NoTemplate { id: id() }.into(), Code::Unimplemented, "nodeTemplate"),
            (CallError::Contended { id: id() }, Code::Aborted, "try again"),
            (CallError::Late, Code::DeadlineExceeded, "repeat"),
            (write(ActError::Denied { message: message() }), Code::PermissionDenied, "deploy/autoscaler"),
            (write(ActError::Invalid { message: message() }), Code::FailedPrecondition, "refused: m"),
            (write(ActError::Unreachable { message: message() }), Code::Unavailable, "unreachable: m"),
        ] {
            let status = status(&error);
            assert_eq!(status.code(), code, "{error}");
            assert!(status.message().contains(part), "{:?} lacks {part:?}", status.message());
        }
    }
}
