//! Messages for failed requests, with the fix.

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
}
