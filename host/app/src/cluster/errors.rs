//! Messages for failed requests and for names that do not exist, with the fix.

use machinist_core::value::error_chain::chain;

/// The reason that a server gives for a missing object. For a missing kind it gives another.
const NOT_FOUND: &str = "NotFound";

/// Why a request failed, in few words.
pub(crate) fn message_of(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        other => chain(other),
    }
}

/// The kind is known, and the object is not there.
pub(crate) fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404 && status.reason == NOT_FOUND)
}

/// The server does not know the kind.
pub(crate) fn is_unknown_kind(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404 && status.reason != NOT_FOUND)
}

/// Returns the error of a request with its task and the fix. `rights`: the rights that the request needs.
pub(crate) fn explained(error: kube::Error, task: &str, rights: &str) -> anyhow::Error {
    let (code, reason, message) = match &error {
        kube::Error::Api(status) => (status.code, status.reason.clone(), status.message.clone()),
        _ => {
            let help = "is the API server there? --kubeconfig and --context choose another";
            return anyhow::Error::new(error).context(format!("failed to {task} ({help})"));
        }
    };
    let help = match (code, reason == NOT_FOUND) {
        (401, _) => ": log in again, or choose another --kubeconfig or --context".to_owned(),
        (403, _) => format!(": ask an administrator for {rights} in this namespace"),
        (404, false) => {
            return anyhow::anyhow!(
                "failed to {task}: this cluster does not know the kind; install the CRDs of deploy/crds, or choose another \
                 cluster with --kubeconfig or --context"
            );
        }
        (409, _) => ": somebody else changed it at the same time; try again".to_owned(),
        (_, _) => String::new(),
    };
    anyhow::anyhow!("failed to {task}: {message}{help}")
}

/// A message has so many names.
const MOST_NAMES: usize = 5;

/// Returns the advice for a name that does not exist. `kind`: of the objects.
pub(crate) fn instead(names: &[String], name: &str, kind: &str) -> String {
    if names.is_empty() {
        return format!("it has no {kind}s at all; choose the namespace with -n");
    }
    let near: Vec<&str> = names
        .iter()
        .filter(|other| other.contains(name) || name.contains(other.as_str()))
        .take(MOST_NAMES)
        .map(String::as_str)
        .collect();
    if near.is_empty() {
        let some: Vec<&str> = names.iter().take(MOST_NAMES).map(String::as_str).collect();
        let many = match names.len() {
            1 => format!("its only {kind}"),
            many => format!("one of {many} {kind}s, such as"),
        };
        format!("choose another namespace with -n, or {many} {}", some.join(", "))
    } else {
        format!("did you mean {}?", near.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: u16, reason: &str, expected: &str) {
        let status = kube::core::Status {
            code,
            reason: reason.to_owned(),
            message: "no".to_owned(),
            ..kube::core::Status::default()
        };
        let error = kube::Error::Api(Box::new(status));
        assert_eq!(is_missing(&error), reason == NOT_FOUND);
        assert_eq!(is_unknown_kind(&error), code == 404 && reason != NOT_FOUND);
        let message_of = explained(error, "list MachineSets", "list on machinesets").to_string();
        assert_eq!(message_of, expected);
    }

    #[test]
    fn an_error_says_what_helps() {
        check(
            401,
            "Unauthorized",
            "failed to list MachineSets: no: log in again, or choose another --kubeconfig or --context",
        );
        check(
            403,
            "Forbidden",
            "failed to list MachineSets: no: ask an administrator for list on machinesets in this namespace",
        );
        check(
            404,
            "Failed to parse error data",
            "failed to list MachineSets: this cluster does not know the kind; install the CRDs of deploy/crds, or choose \
             another cluster with --kubeconfig or --context",
        );
        check(404, NOT_FOUND, "failed to list MachineSets: no");
        check(
            409,
            "Conflict",
            "failed to list MachineSets: no: somebody else changed it at the same time; try again",
        );
        check(500, "InternalError", "failed to list MachineSets: no");
    }

    #[test]
    fn a_name_that_is_nearly_right_is_shown() {
        let names = ["worker-1", "worker-2", "big"].map(str::to_owned);
        assert_eq!(instead(&names, "worker", "Machine"), "did you mean worker-1, worker-2?");
        assert_eq!(
            instead(&names, "nothing", "Machine"),
            "choose another namespace with -n, or one of 3 Machines, such as worker-1, worker-2, big"
        );
        assert_eq!(
            instead(&names[..1], "x", "MachineSet"),
            "choose another namespace with -n, or its only MachineSet worker-1"
        );
        assert_eq!(
            instead(&[], "x", "MachineSet"),
            "it has no MachineSets at all; choose the namespace with -n"
        );
    }
}
