//! EC2's error codes as codes of the contract, with advice. One table.

use machinist_sdk::driver::Code;

/// Whether a refused change may have happened all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    NotDone,
    Unknown,
}

/// The meaning of an EC2 error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// EC2's code; a trailing `*` matches any suffix.
    pub(crate) name: &'static str,
    pub(crate) code: Code,
    /// True if only another class, Secret or Machine helps.
    pub(crate) is_terminal: bool,
    pub(crate) outcome: Completion,
    /// Advice for a person, if EC2's own message gives none.
    pub(crate) advice: &'static str,
}

/// Terminal: class, Secret or Machine must change.
const fn lasting(name: &'static str, code: Code, advice: &'static str) -> Meaning {
    Meaning { name, code, is_terminal: true, outcome: Completion::NotDone, advice }
}

/// Temporary: may pass without a change of class, Secret or Machine.
const fn passing(name: &'static str, code: Code, advice: &'static str) -> Meaning {
    Meaning { name, code, is_terminal: false, outcome: Completion::NotDone, advice }
}

/// The work may have been done.
const fn unknown(name: &'static str) -> Meaning {
    Meaning { name, code: Code::Unavailable, is_terminal: false, outcome: Completion::Unknown, advice: "" }
}

const fn exhausted(name: &'static str, advice: &'static str) -> Meaning {
    passing(name, Code::ResourceExhausted, advice)
}

const fn throttled(name: &'static str) -> Meaning {
    passing(
        name,
        Code::Unavailable,
        "the account's rate of requests is used up, it is tried again more slowly",
    )
}

const fn wrong(name: &'static str, advice: &'static str) -> Meaning {
    lasting(name, Code::InvalidArgument, advice)
}

pub(crate) const MISMATCH: &str = "IdempotentParameterMismatch";
pub(crate) const TERMINATED: &str = "IdempotentInstanceTerminated";
pub(crate) const NO_INSTANCE: &str = "InvalidInstanceID.NotFound";
pub(crate) const NO_INSTANCE_ID: &str = "InvalidInstanceID.Malformed";
pub(crate) const NO_INSTANCE_TYPE: &str = "InvalidInstanceType";
pub(crate) const UNAUTHORIZED: &str = "UnauthorizedOperation";

/// The codes that another zone may not have.
const OF_A_ZONE: [&str; 8] = [
    "InsufficientCapacity", "InsufficientInstanceCapacity", "InsufficientVolumeCapacity",
    "InsufficientFreeAddressesInSubnet", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity",
    "UnfulfillableCapacity", "Unsupported",
];

/// Whether a code says that the zone alone lacks something.
pub(crate) fn is_of_a_zone(code: &str) -> bool {
    OF_A_ZONE.contains(&code)
}

const OTHER_CAPACITY: &str = "wait, or use another machineType, zone or market";
const QUOTA: &str = "raise the account's quota in this region, or remove instances";
const KEYS: &str = "correct providerAccessKeyId and providerSecretAccessKey in the MachineClass's Secret";
const SPEC: &str = "correct the MachineClass's providerSpec";
const SUBNET: &str = "correct networkInterfaces[].subnetID in the MachineClass's providerSpec";
const GROUP: &str = "correct networkInterfaces[].securityGroupIDs in the MachineClass's providerSpec";
const RENEW: &str = "renew the session token in the MachineClass's Secret, or use keys that do not expire";
const CLOCK: &str = "fix the time synchronisation (NTP) of the node that this runs on";

/// First the codes that machine-controller-manager's driver treats as exhaustion, then the others.
pub(crate) const TABLE: &[Meaning] = &[
    exhausted("InsufficientCapacity", OTHER_CAPACITY),
    exhausted("InsufficientAddressCapacity", "release addresses, or raise the account's quota of them"),
    exhausted("InsufficientInstanceCapacity", OTHER_CAPACITY),
    exhausted("InsufficientVolumeCapacity", "wait, or use another volumeType or zone"),
    exhausted("InstanceLimitExceeded", QUOTA),
    exhausted("VcpuLimitExceeded", QUOTA),
    exhausted("VolumeLimitExceeded", QUOTA),
    exhausted("MaxIOPSLimitExceeded", QUOTA),
    exhausted("RouteLimitExceeded", "remove routes of the route table, or raise its quota"),
    exhausted("Unsupported", "use a machineType that is offered in the zone of the subnet, or another zone"),
    exhausted("InsufficientFreeAddressesInSubnet", "free addresses in the subnet, or use a larger one"),
    exhausted("MaxSpotInstanceCountExceeded", QUOTA),
    exhausted("SpotMaxPriceTooLow", "raise or remove spotPrice, or use another market"),
    exhausted("InsufficientHostCapacity", OTHER_CAPACITY),
    exhausted("InsufficientReservedInstanceCapacity", OTHER_CAPACITY),
    exhausted("ReservationCapacityExceeded", "enlarge the capacity reservation, or use another"),
    exhausted("UnfulfillableCapacity", OTHER_CAPACITY),
    exhausted("NetworkInterfaceLimitExceeded", QUOTA),
    exhausted("PrivateIpAddressLimitExceeded", QUOTA),
    // Credentials.
    lasting(
        "AuthFailure",
        Code::Unauthenticated,
        "correct the keys in the MachineClass's Secret, and enable the region for the account",
    ),
    lasting("InvalidClientTokenId", Code::Unauthenticated, KEYS),
    lasting("UnrecognizedClientException", Code::Unauthenticated, KEYS),
    lasting("MissingAuthenticationToken", Code::Unauthenticated, KEYS),
    lasting(
        "SignatureDoesNotMatch",
        Code::Unauthenticated,
        "correct the secret access key in the MachineClass's Secret, and its region",
    ),
    passing("IncompleteSignature", Code::Unauthenticated, KEYS),
    passing("ExpiredToken*", Code::Unauthenticated, RENEW),
    passing("RequestExpired", Code::Unauthenticated, CLOCK),
    passing("RequestTimeTooSkewed", Code::Unauthenticated, CLOCK),
    passing(
        "InvalidIdentityToken",
        Code::Unauthenticated,
        "check the token file, and the role's identity provider",
    ),
    passing(
        "IDPRejectedClaim",
        Code::Unauthenticated,
        "check the token's claims against the role's trust policy",
    ),
    // Rights.
    passing(UNAUTHORIZED, Code::PermissionDenied, ""),
    passing("AccessDenied*", Code::PermissionDenied, ""),
    passing("Blocked", Code::PermissionDenied, "the account is blocked: contact AWS support"),
    passing("OptInRequired", Code::FailedPrecondition, "subscribe the account to the image or the service"),
    passing("PendingVerification", Code::FailedPrecondition, "wait until AWS has verified the account"),
    passing(
        "OperationNotPermitted",
        Code::FailedPrecondition,
        "turn off the instance's termination protection",
    ),
    // Class.
    wrong(
        "InvalidAMIID.*",
        "correct ami in the MachineClass's providerSpec: it must exist in the region and be shared with the account",
    ),
    wrong(
        "InvalidParameterValue",
        "correct machineType, iam or the field that the message names in the MachineClass's providerSpec",
    ),
    wrong(NO_INSTANCE_TYPE, "correct machineType in the MachineClass's providerSpec"),
    wrong("InvalidParameter*", SPEC),
    wrong("MissingParameter", SPEC),
    wrong("UnsupportedOperation", SPEC),
    wrong("InvalidSubnet*", SUBNET),
    wrong("InvalidGroup*", GROUP),
    wrong("InvalidSecurityGroup*", GROUP),
    wrong("InvalidKeyPair*", "correct keyName in the MachineClass's providerSpec"),
    wrong("InvalidBlockDeviceMapping", "correct blockDevices in the MachineClass's providerSpec"),
    wrong("InvalidSnapshot*", "correct blockDevices[].ebs.snapshotID in the MachineClass's providerSpec"),
    wrong("InvalidPlacementGroup*", "correct placement in the MachineClass's providerSpec"),
    wrong("InvalidHost*", "correct placement in the MachineClass's providerSpec"),
    wrong("InvalidCapacityReservation*", "correct capacityReservation in the MachineClass's providerSpec"),
    wrong("InvalidIamInstanceProfile*", "correct iam in the MachineClass's providerSpec"),
    wrong("InvalidUserData*", "correct userData in the MachineClass's Secret"),
    wrong("TagLimitExceeded", "remove tags from the MachineClass's providerSpec"),
    wrong("InvalidTagKey*", "correct tags in the MachineClass's providerSpec"),
    // Instances.
    passing(NO_INSTANCE, Code::NotFound, ""),
    passing(NO_INSTANCE_ID, Code::NotFound, ""),
    passing(MISMATCH, Code::Aborted, ""),
    passing(TERMINATED, Code::Aborted, ""),
    passing("IncorrectInstanceState", Code::Aborted, ""),
    passing("IncorrectState", Code::Aborted, ""),
    passing("InvalidNetworkInterface*", Code::Aborted, ""),
    passing("ConcurrentTagAccess", Code::Aborted, ""),
    passing("InvalidNextToken*", Code::Aborted, "the listing starts again"),
    // Throttling: EC2 has done nothing.
    throttled("RequestLimitExceeded"),
    throttled("EC2ThrottledException"),
    throttled("Throttl*"),
    throttled("TooManyRequests*"),
    throttled("RequestThrottled*"),
    throttled("SlowDown"),
    throttled("BandwidthLimitExceeded"),
    passing("Unavailable", Code::Unavailable, ""),
    // Outages.
    unknown("InternalError"),
    unknown("InternalFailure"),
    unknown("ServiceUnavailable"),
    unknown("RequestTimeout*"),
];

/// Returns the meaning of a code; `None` if the table does not list it.
pub(crate) fn meaning(name: &str) -> Option<&'static Meaning> {
    let is_it = |row: &&Meaning| match row.name.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => row.name == name,
    };
    TABLE.iter().find(is_it)
}

/// Classifies a code that the table does not list by its status.
pub(crate) fn by_status(status: u16) -> (Code, Completion) {
    match status {
        401 => (Code::Unauthenticated, Completion::NotDone),
        403 => (Code::PermissionDenied, Completion::NotDone),
        408 | 504 => (Code::DeadlineExceeded, Completion::Unknown),
        429 => (Code::Unavailable, Completion::NotDone),
        500..=599 => (Code::Unavailable, Completion::Unknown),
        _ => (Code::Internal, Completion::NotDone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_hides_behind_another() {
        for row in TABLE {
            assert_eq!(meaning(row.name.trim_end_matches('*')), Some(row));
        }
    }

    #[test]
    fn exhaustion_has_the_codes_that_the_autoscaler_waits_for() {
        for name in [
            "InsufficientCapacity", "InsufficientAddressCapacity", "InsufficientInstanceCapacity",
            "InsufficientVolumeCapacity", "InstanceLimitExceeded", "VcpuLimitExceeded",
            "VolumeLimitExceeded", "MaxIOPSLimitExceeded", "RouteLimitExceeded", "Unsupported",
            "InsufficientFreeAddressesInSubnet", "MaxSpotInstanceCountExceeded", "SpotMaxPriceTooLow",
            "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity", "UnfulfillableCapacity",
        ] {
            let row = meaning(name).unwrap();
            let meaning = (row.code, row.is_terminal, row.outcome);
            assert_eq!(meaning, (Code::ResourceExhausted, false, Completion::NotDone), "{name}");
            assert!(!row.advice.is_empty(), "{name}");
        }
    }
}
