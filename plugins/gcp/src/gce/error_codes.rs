//! Google's error codes as codes of the contract, with advice. One table: reasons of refusals (`quotaExceeded`), and
//! codes of failed operations (`QUOTA_EXCEEDED`).

use machinist_sdk::driver::Code;

/// The meaning of an error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// Google's code; a `*` at its begin or end matches anything.
    pub(crate) name: &'static str,
    pub(crate) code: Code,
    /// True if only another class, Secret or Machine helps.
    pub(crate) is_terminal: bool,
    /// True if another zone may not refuse.
    pub(crate) is_of_zone: bool,
    /// Advice for a person.
    pub(crate) advice: &'static str,
}

const fn row(name: &'static str, code: Code, advice: &'static str) -> Meaning {
    Meaning { name, code, is_terminal: false, is_of_zone: false, advice }
}

/// Class, Secret or Machine must change.
const fn lasting(name: &'static str, code: Code, advice: &'static str) -> Meaning {
    Meaning { is_terminal: true, ..row(name, code, advice) }
}

const fn exhausted(name: &'static str, advice: &'static str) -> Meaning {
    row(name, Code::ResourceExhausted, advice)
}

/// The zone alone lacks something.
const fn full(name: &'static str) -> Meaning {
    Meaning { is_of_zone: true, ..exhausted(name, OTHER_CAPACITY) }
}

const fn throttled(name: &'static str) -> Meaning {
    row(name, Code::Unavailable, "the project's rate of requests is used up, it is tried again more slowly")
}

const fn wrong(name: &'static str, advice: &'static str) -> Meaning {
    lasting(name, Code::InvalidArgument, advice)
}

pub(crate) const ALREADY_EXISTS: &str = "alreadyExists";
pub(crate) const NOT_READY: &str = "resourceNotReady";
pub(crate) const NOT_FOUND: &str = "notFound";
pub(crate) const INVALID: &str = "invalid";
pub(crate) const EXISTS_ALREADY: &str = "RESOURCE_ALREADY_EXISTS";

const OTHER_CAPACITY: &str =
    "wait, or name further zones in zones of the providerSpec, or use another machineType";
const QUOTA: &str = "raise the project's quota in this region, or remove instances";
const SPEC: &str = "correct the MachineClass's providerSpec";
const ROLE: &str = "grant the service account the role roles/compute.instanceAdmin.v1 of the project, and \
                    roles/iam.serviceAccountUser of the service account that instances get";
const KEY: &str = "put a valid key of the service account into the MachineClass's Secret";
const AGAIN: &str = "it is tried again";
pub(crate) const POLICY: &str =
    "correct the MachineClass so that it follows the organisation policy, or have the policy changed";

pub(crate) const TABLE: &[Meaning] = &[
    // Capacity and quotas. machine-controller-manager's provider counts the first three and all codes with QUOTA.
    full("RESOURCE_POOL_EXHAUSTED"),
    full("ZONE_RESOURCE_POOL_EXHAUSTED"),
    full("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS"),
    full("*RESOURCE_POOL_EXHAUSTED*"),
    full("*STOCKOUT*"),
    full("NOT_ENOUGH_CAPACITY"),
    exhausted("IP_SPACE_EXHAUSTED*", "free addresses in the subnetwork, or use a larger one"),
    exhausted("RESERVATION_*", "enlarge the reservation, or use another"),
    exhausted("*QUOTA*", QUOTA),
    exhausted("quotaExceeded", QUOTA),
    exhausted("limitExceeded", QUOTA),
    exhausted("stockout", OTHER_CAPACITY),
    // Credentials and rights.
    lasting("authError", Code::Unauthenticated, KEY),
    lasting("invalid_grant", Code::Unauthenticated, KEY),
    lasting("invalid_client", Code::Unauthenticated, KEY),
    lasting(
        "invalid_target",
        Code::Unauthenticated,
        "correct audience in the credentials of the MachineClass's Secret",
    ),
    lasting("unauthorized_client", Code::Unauthenticated, KEY),
    lasting("invalid_scope", Code::Unauthenticated, "correct scopes of jwt-bearer in the plugin's grants"),
    row("forbidden", Code::PermissionDenied, ROLE),
    row("PERMISSIONS_ERROR", Code::PermissionDenied, ROLE),
    row(
        "insufficientPermissions",
        Code::PermissionDenied,
        "add https://www.googleapis.com/auth/compute to scopes of jwt-bearer in the plugin's grants",
    ),
    row("accessNotConfigured", Code::PermissionDenied, "enable the Compute Engine API in the project"),
    row("SERVICE_DISABLED", Code::PermissionDenied, "enable the Compute Engine API in the project"),
    row("accountDisabled", Code::FailedPrecondition, "enable the service account"),
    row("billingNotEnabled", Code::FailedPrecondition, "enable billing of the project"),
    row("projectSuspended", Code::FailedPrecondition, "have the project's suspension ended"),
    row(
        "CONDITION_NOT_MET",
        Code::FailedPrecondition,
        "change what Google names: an organisation policy or the project's state forbids it",
    ),
    row("*POLICY*", Code::FailedPrecondition, POLICY),
    // The class.
    wrong(INVALID, SPEC),
    wrong("badRequest", SPEC),
    wrong("invalidParameter", SPEC),
    wrong("invalidArgument", SPEC),
    wrong("required", SPEC),
    wrong("parseError", SPEC),
    wrong("INVALID_*", SPEC),
    wrong("UNSUPPORTED_OPERATION", SPEC),
    wrong(
        "RESOURCE_NOT_FOUND",
        "correct the name of the missing resource in the MachineClass's providerSpec, or create it",
    ),
    wrong(
        NOT_FOUND,
        "correct the name of the missing resource in the MachineClass's providerSpec, or create it",
    ),
    // The cloud's state.
    row(ALREADY_EXISTS, Code::AlreadyExists, "remove or rename what has the name, or delete the Machine"),
    row(
        EXISTS_ALREADY,
        Code::FailedPrecondition,
        "remove or rename what has the name, or delete the Machine",
    ),
    row("conditionNotMet", Code::Aborted, AGAIN),
    row(NOT_READY, Code::Aborted, AGAIN),
    row("RESOURCE_NOT_READY", Code::Aborted, AGAIN),
    row("resourceInUseByAnotherResource", Code::FailedPrecondition, "detach it from what uses it"),
    row("RESOURCE_IN_USE*", Code::FailedPrecondition, "detach it from what uses it"),
    row("operationCanceledByUser", Code::Aborted, AGAIN),
    // Too many requests, and outages.
    throttled("rateLimitExceeded"),
    throttled("userRateLimitExceeded"),
    throttled("RATE_LIMIT_EXCEEDED"),
    throttled("RESOURCE_OPERATION_RATE_EXCEEDED"),
    throttled("dailyLimitExceeded"),
    row("backendError", Code::Unavailable, AGAIN),
    row("internalError", Code::Unavailable, AGAIN),
    row("INTERNAL_ERROR", Code::Unavailable, AGAIN),
];

/// Returns the first row for a code.
pub(crate) fn meaning(code: &str) -> Option<&'static Meaning> {
    TABLE.iter().find(|row| is_match(row.name, code))
}

fn is_match(pattern: &str, code: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(rest), Some(_)) => code.contains(rest.trim_end_matches('*')),
        (Some(rest), None) => code.ends_with(rest),
        (None, Some(rest)) => code.starts_with(rest),
        (None, None) => code == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_one_row_each() {
        for (index, row) in TABLE.iter().enumerate() {
            assert!(!TABLE[..index].iter().any(|known| known.name == row.name), "{}", row.name);
        }
    }

    #[test]
    fn codes_that_the_go_provider_counts_as_exhaustion_are() {
        for code in [
            "RESOURCE_POOL_EXHAUSTED",
            "ZONE_RESOURCE_POOL_EXHAUSTED",
            "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
            "QUOTA_EXCEEDED",
            "CPUS_ALL_REGIONS_QUOTA",
            "VM_STOCKOUT_X",
            "IP_SPACE_EXHAUSTED_WITH_DETAILS",
        ] {
            assert_eq!(meaning(code).unwrap().code, Code::ResourceExhausted, "{code}");
        }
        assert_eq!(meaning("somethingElse"), None);
    }

    #[test]
    fn only_capacity_is_a_matter_of_the_zone() {
        let of_zone: Vec<&str> = TABLE.iter().filter(|row| row.is_of_zone).map(|row| row.name).collect();
        assert!(of_zone.iter().all(|name| name.contains("EXHAUSTED")
            || name.contains("STOCKOUT")
            || name.contains("CAPACITY")));
        assert!(!meaning("QUOTA_EXCEEDED").unwrap().is_of_zone, "quotas are those of the region");
    }
}
