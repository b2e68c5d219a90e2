//! Failures of a creation that are reported to the autoscaler. It then deletes the Machine and tries other groups for a
//! while.

use crate::driver::error::Code;

/// The classes of the autoscaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// The cloud has no capacity, or a quota is used up.
    OutOfResources,
    Other,
}

impl ErrorClass {
    /// Its number in the autoscaler's interface.
    pub fn number(self) -> i32 {
        match self {
            Self::OutOfResources => 1,
            Self::Other => 99,
        }
    }
}

/// A creation that failed, and that no repetition helps soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreationError {
    pub class: ErrorClass,
    pub code: &'static str,
    pub message: String,
}

impl CreationError {
    /// The error of a driver's code. `None` for a failure that passes: the host repeats the call, and to delete the
    /// Machine would only lose its turn.
    pub fn of_code(code: &str, message: &str) -> Option<Self> {
        let code = Code::ALL.into_iter().find(|known| known.name() == code)?;
        let class = match code {
            Code::ResourceExhausted => ErrorClass::OutOfResources,
            Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::Internal
            | Code::DataLoss
            | Code::Unauthenticated
            | Code::Unknown => ErrorClass::Other,
            Code::Canceled
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::Unavailable
            | Code::Uninitialized => return None,
        };
        Some(Self { class, code: code.name(), message: message.to_owned() })
    }

    /// The error of the reason of an infrastructure machine's condition `Ready`.
    pub fn of_reason(reason: &str, message: &str) -> Option<Self> {
        use crate::infra_machine::InfraReason::{
            CredentialsRefused, CredentialsRejected, FailureDomainUnsupported, InsufficientCapacity,
            InvalidSpec, KeyContested, SeveralInstances,
        };
        let others = [
            CredentialsRefused, CredentialsRejected, FailureDomainUnsupported, InvalidSpec, KeyContested,
            SeveralInstances,
        ];
        let is = |known: &&crate::infra_machine::InfraReason| known.as_str() == reason;
        let (class, known) = match others.iter().find(is) {
            Some(known) => (ErrorClass::Other, *known),
            None if reason == InsufficientCapacity.as_str() => {
                (ErrorClass::OutOfResources, InsufficientCapacity)
            }
            None => return None,
        };
        Some(Self { class, code: known.as_str(), message: message.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_capacity_is_a_class_of_its_own_and_what_passes_is_no_error() {
        let class = |code: &str| CreationError::of_code(code, "m").map(|error| error.class.number());
        for (code, expected) in [
            ("ResourceExhausted", Some(1)),
            ("InvalidArgument", Some(99)),
            ("Unauthenticated", Some(99)),
            ("Internal", Some(99)),
            ("Unavailable", None),
            ("DeadlineExceeded", None),
            ("Uninitialized", None),
            ("", None),
            ("Nonsense", None),
        ] {
            assert_eq!(class(code), expected, "{code}");
        }
        let error = CreationError::of_code("ResourceExhausted", "no more m5.large").unwrap();
        assert_eq!((error.code, error.message.as_str()), ("ResourceExhausted", "no more m5.large"));
    }

    #[test]
    fn reasons_of_infrastructure_machines_are_sorted_alike() {
        let class = |reason: &str| CreationError::of_reason(reason, "m").map(|error| error.class.number());
        for (reason, expected) in [
            ("InsufficientCapacity", Some(1)),
            ("InvalidSpec", Some(99)),
            ("CredentialsRejected", Some(99)),
            ("WaitingForBootstrapData", None),
            ("InstancePending", None),
            ("", None),
        ] {
            assert_eq!(class(reason), expected, "{reason}");
        }
    }
}
