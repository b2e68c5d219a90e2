//! Azure's error codes as codes of the contract, with advice. One table.

use machinist_sdk::driver::Code;

/// Whether a refused change may have happened all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    NotDone,
    Unknown,
}

/// The meaning of an error code of Azure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// Azure's code; a trailing `*` matches any suffix. The case does not matter.
    pub(crate) name: &'static str,
    /// A part of the message, in lower case, that this meaning needs. Empty: none.
    pub(crate) said: &'static str,
    pub(crate) code: Code,
    /// True if only another class, Secret or Machine helps.
    pub(crate) is_terminal: bool,
    pub(crate) outcome: Completion,
    /// Advice for a person, if Azure's own message gives none.
    pub(crate) advice: &'static str,
}

/// Terminal: class, Secret or Machine must change.
const fn lasting(name: &'static str, code: Code, advice: &'static str) -> Meaning {
    Meaning { name, said: "", code, is_terminal: true, outcome: Completion::NotDone, advice }
}

/// Temporary: may pass without a change of class, Secret or Machine.
const fn passing(name: &'static str, code: Code, advice: &'static str) -> Meaning {
    Meaning { name, said: "", code, is_terminal: false, outcome: Completion::NotDone, advice }
}

/// The work may have been done.
const fn unknown(name: &'static str) -> Meaning {
    Meaning {
        name,
        said: "",
        code: Code::Unavailable,
        is_terminal: false,
        outcome: Completion::Unknown,
        advice: "it is tried again",
    }
}

const fn exhausted(name: &'static str, advice: &'static str) -> Meaning {
    passing(name, Code::ResourceExhausted, advice)
}

const fn throttled(name: &'static str) -> Meaning {
    passing(
        name,
        Code::Unavailable,
        "the subscription's rate of requests is used up, it is tried again more slowly",
    )
}

const fn wrong(name: &'static str, advice: &'static str) -> Meaning {
    lasting(name, Code::InvalidArgument, advice)
}

const fn busy(name: &'static str) -> Meaning {
    passing(name, Code::Aborted, "something else changes the resource, it is tried again")
}

const fn saying(said: &'static str, meaning: Meaning) -> Meaning {
    Meaning { said, ..meaning }
}

pub(crate) const NO_GROUP: &str = "ResourceGroupNotFound";
pub(crate) const ABSENT: [&str; 2] = ["ResourceNotFound", "NotFound"];
pub(crate) const THROTTLED: &str = "TooManyRequests";
/// The codes of tokens and assertions that count for some time only.
pub(crate) const OF_TIME: [&str; 3] =
    ["AADSTS700024", "ExpiredAuthenticationToken", "InvalidAuthenticationToken"];
pub(crate) const EXISTS: [&str; 3] = ["PreconditionFailed", "ConditionNotMet", "ResourceExists"];
/// A disk of a name that the VM would give to its own.
pub(crate) const NAME_TAKEN: &str = "ConflictingUserInput";

/// The codes that another zone may not have; a trailing `*` matches any suffix. Quotas and subnets are the region's.
const OF_A_ZONE: [&str; 7] = [
    "ZonalAllocationFailed", "AllocationFailed", "OverconstrainedZonalAllocationRequest",
    "OverconstrainedAllocationRequest", "SkuNotAvailable", "NotAvailableForSubscription",
    "SpotCapacityNotAvailable*",
];

/// True if a code says that the zone alone lacks something.
pub(crate) fn is_of_a_zone(code: &str) -> bool {
    OF_A_ZONE.iter().any(|name| is_named(name, code))
}

const OTHER_CAPACITY: &str = "wait, or use another vmSize, zone or location";
const QUOTA: &str = "raise the subscription's quota in this location, or remove VMs";
const KEYS: &str = "correct clientID, clientSecret and tenantID in the MachineClass's Secret";
const SPEC: &str = "correct the MachineClass's providerSpec";
const IMAGE: &str = "correct properties.storageProfile.imageReference in the MachineClass's providerSpec";
const TERMS: &str = "accept the image's terms for this subscription in the marketplace";
const REGISTER: &str =
    "register the resource provider for this subscription: az provider register --namespace NAME";
const LOCK: &str = "remove the lock from the resource group";
const MISSING: &str =
    "create the missing resource, or correct its name or id in the MachineClass's providerSpec";

/// First the codes that machine-controller-manager's driver treats as exhaustion, then the others.
pub(crate) static TABLE: &[Meaning] = &[
    exhausted("ZonalAllocationFailed", OTHER_CAPACITY),
    exhausted("SkuNotAvailable", OTHER_CAPACITY),
    exhausted("AllocationFailed", OTHER_CAPACITY),
    exhausted("ResourceQuotaExceeded", QUOTA),
    saying("quota", exhausted("OperationNotAllowed", QUOTA)),
    saying("not supported", exhausted("BadRequest", OTHER_CAPACITY)),
    exhausted("OverconstrainedAllocationRequest", OTHER_CAPACITY),
    exhausted("OverconstrainedZonalAllocationRequest", OTHER_CAPACITY),
    exhausted("QuotaExceeded", QUOTA),
    exhausted("SubnetIsFull", "use a larger subnet, or remove what is in this one"),
    exhausted("SpotCapacityNotAvailable*", "wait, or use another vmSize, zone or priority"),
    exhausted("NotAvailableForSubscription", OTHER_CAPACITY),
    lasting(
        "AADSTS7000215",
        Code::Unauthenticated,
        "correct clientSecret in the MachineClass's Secret: it is the value of the secret, not its id",
    ),
    lasting(
        "AADSTS7000222",
        Code::Unauthenticated,
        "the client secret has expired: put another one into the MachineClass's Secret",
    ),
    lasting(
        "AADSTS700016",
        Code::Unauthenticated,
        "correct clientID and tenantID in the MachineClass's Secret: the tenant has no such application",
    ),
    lasting(
        "AADSTS90002",
        Code::Unauthenticated,
        "correct tenantID in the MachineClass's Secret: there is no such tenant",
    ),
    lasting(
        "AADSTS900023",
        Code::Unauthenticated,
        "correct tenantID in the MachineClass's Secret: it is not the id of a tenant",
    ),
    passing(
        "AADSTS700024",
        Code::Unauthenticated,
        "the assertion is not valid at this time: fix the time synchronisation (NTP) of the node that this runs on, or let the token file be renewed",
    ),
    passing(
        "AADSTS7002*",
        Code::Unauthenticated,
        "let the application have a federated credential with this issuer and subject",
    ),
    passing("AADSTS700027", Code::Unauthenticated, "upload the certificate to the application"),
    passing("AADSTS*", Code::Unauthenticated, KEYS),
    lasting("invalid_client", Code::Unauthenticated, KEYS),
    lasting("unauthorized_client", Code::Unauthenticated, KEYS),
    passing(
        "ExpiredAuthenticationToken",
        Code::Unauthenticated,
        "the host fetches another token; if this lasts, fix the time synchronisation (NTP) of the node that this runs on",
    ),
    passing("InvalidAuthenticationToken*", Code::Unauthenticated, KEYS),
    passing("AuthenticationFailed*", Code::Unauthenticated, KEYS),
    passing("AuthorizationFailed", Code::PermissionDenied, ""),
    passing(
        "LinkedAuthorizationFailed",
        Code::PermissionDenied,
        "let the service principal do what Azure names on the linked resource, such as the subnet or the image",
    ),
    passing("LinkedInvalidPropertyId", Code::InvalidArgument, SPEC),
    passing(
        "RequestDisallowedByPolicy",
        Code::FailedPrecondition,
        "change the class so that it follows the policy, or exempt the resource group from it",
    ),
    passing("ScopeLocked", Code::FailedPrecondition, LOCK),
    passing("ReadOnlyDisabledSubscription", Code::FailedPrecondition, "enable the subscription"),
    lasting(
        "SubscriptionNotFound",
        Code::FailedPrecondition,
        "correct subscriptionID in the MachineClass's Secret, and let the client have a role in it",
    ),
    lasting(
        "InvalidSubscriptionId",
        Code::FailedPrecondition,
        "correct subscriptionID in the MachineClass's Secret",
    ),
    passing("MissingSubscriptionRegistration", Code::FailedPrecondition, REGISTER),
    passing("SubscriptionNotRegistered*", Code::FailedPrecondition, REGISTER),
    passing("MarketplacePurchaseEligibilityFailed", Code::FailedPrecondition, TERMS),
    passing("ResourcePurchaseValidationFailed", Code::FailedPrecondition, TERMS),
    passing("ResourcePurchaseCanceling", Code::FailedPrecondition, TERMS),
    passing(
        "PropertyChangeNotAllowed",
        Code::FailedPrecondition,
        "delete the Machine: the VM was made with other values",
    ),
    passing(
        NO_GROUP,
        Code::FailedPrecondition,
        "create the resource group, or correct resourceGroup in the MachineClass's providerSpec",
    ),
    // A resource that the class names, and that somebody may still create.
    passing(ABSENT[0], Code::FailedPrecondition, MISSING),
    passing(ABSENT[1], Code::FailedPrecondition, MISSING),
    wrong("InvalidParameter", SPEC),
    wrong("InvalidRequestContent", SPEC),
    wrong("InvalidRequestFormat", SPEC),
    wrong("InvalidResourceReference", SPEC),
    wrong("InvalidResourceType", SPEC),
    wrong("InvalidResourceName", SPEC),
    wrong("InvalidTagNameCharacters", "correct tags in the MachineClass's providerSpec"),
    wrong("InvalidLocation", "correct location in the MachineClass's providerSpec"),
    wrong("LocationNotAvailableForResourceType", "correct location in the MachineClass's providerSpec"),
    wrong("NoRegisteredProviderFound", "correct location in the MachineClass's providerSpec"),
    wrong("AvailabilityZoneNotSupported", "correct properties.zone in the MachineClass's providerSpec"),
    wrong("ImageNotFound", IMAGE),
    wrong("PlatformImageNotFound", IMAGE),
    wrong("GalleryImageNotFound", IMAGE),
    wrong("ArtifactNotFound", IMAGE),
    wrong("VMMarketplaceInvalidInput", IMAGE),
    wrong("BadRequest", SPEC),
    busy("OperationNotAllowed"),
    busy("OperationPreempted"),
    busy("Conflict"),
    busy("ConflictingConcurrentWriteNotAllowed"),
    busy("AnotherOperationInProgress"),
    busy("RetryableError*"),
    busy("CanceledAndSupersededDueToAnotherOperation"),
    busy("AttachDiskWhileBeingDetached"),
    busy("ReferencedResourceNotProvisioned"),
    busy("NicInUse"),
    busy("NicReservedForAnotherVm"),
    busy("DiskInUse"),
    busy("Canceled"),
    busy("PreconditionFailed"),
    busy("ConditionNotMet"),
    busy("ConflictingUserInput"),
    throttled(THROTTLED),
    throttled("SubscriptionRequestsThrottled"),
    throttled("ResourceRequestsThrottled"),
    throttled("ResourceCollectionRequestsThrottled"),
    throttled("RateLimiting"),
    unknown("InternalServerError"),
    unknown("InternalExecutionError"),
    unknown("InternalOperationError"),
    unknown("InternalDiskManagementError"),
    unknown("NetworkingInternalOperationError"),
    unknown("ServerTimeout"),
    unknown("ServiceUnavailable"),
    unknown("ServerBusy"),
    unknown("GatewayTimeout"),
    unknown("OperationTimedOut"),
    unknown("OSProvisioningTimedOut"),
    unknown("OSProvisioningClientError"),
    unknown("OSProvisioningInternalError"),
];

/// Returns the meaning of a code, with the message that came with it.
pub(crate) fn meaning(code: &str, message: &str) -> Option<&'static Meaning> {
    let message = message.to_ascii_lowercase();
    let fits = |row: &&Meaning| is_named(row.name, code) && (row.said.is_empty() || says(&message, row.said));
    TABLE.iter().find(fits)
}

/// True if a code has this name, or begins with it before a `*`.
fn is_named(name: &str, code: &str) -> bool {
    match name.strip_suffix('*') {
        Some(start) => code.get(..start.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(start)),
        None => code.eq_ignore_ascii_case(name),
    }
}

/// True if the message contains the words, whatever blanks are between them.
fn says(message: &str, words: &str) -> bool {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    line.contains(words)
}

/// Returns the meaning of a status without a known code.
pub(crate) fn by_status(status: u16) -> (Code, Completion) {
    match status {
        401 => (Code::Unauthenticated, Completion::NotDone),
        403 => (Code::PermissionDenied, Completion::NotDone),
        408 | 500..=599 => (Code::Unavailable, Completion::Unknown),
        409 | 412 => (Code::Aborted, Completion::NotDone),
        429 => (Code::Unavailable, Completion::NotDone),
        _ => (Code::Internal, Completion::NotDone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str, message: &str) -> Option<Code> {
        meaning(name, message).map(|row| row.code)
    }

    #[test]
    fn every_code_of_mcm_s_driver_is_exhaustion() {
        for name in ["ZonalAllocationFailed", "SkuNotAvailable", "AllocationFailed", "ResourceQuotaExceeded"]
        {
            assert_eq!(code(name, ""), Some(Code::ResourceExhausted), "{name}");
        }
        let quota = "Operation could not be completed as it results in exceeding approved Total Regional Cores quota.";
        assert_eq!(code("OperationNotAllowed", quota), Some(Code::ResourceExhausted));
        assert_eq!(code("OperationNotAllowed", "the VM is being deleted"), Some(Code::Aborted));
        let size = "The requested VM size is NOT\n supported in this zone";
        assert_eq!(code("BadRequest", size), Some(Code::ResourceExhausted));
        assert_eq!(code("BadRequest", "unusual"), Some(Code::InvalidArgument));
    }

    #[test]
    fn only_capacity_is_of_a_zone_and_each_such_code_is_exhaustion() {
        for name in OF_A_ZONE {
            let name = name.replace('*', "X");
            assert_eq!(
                (is_of_a_zone(&name), code(&name, "")),
                (true, Some(Code::ResourceExhausted)),
                "{name}"
            );
        }
        for name in
            ["ResourceQuotaExceeded", "QuotaExceeded", "OperationNotAllowed", "SubnetIsFull", "BadRequest"]
        {
            assert!(!is_of_a_zone(name), "{name}");
        }
    }

    #[test]
    fn no_row_is_hidden_by_an_earlier_one() {
        for (index, row) in TABLE.iter().enumerate() {
            let name = row.name.replace('*', "X");
            let found = meaning(&name, row.said).unwrap();
            let first = TABLE.iter().position(|other| std::ptr::eq(other, found)).unwrap();
            assert!(first == index || TABLE[first].name == row.name, "{}", row.name);
        }
        assert_eq!(meaning("Unheard", ""), None);
        assert_eq!(code("aadsts50013", ""), Some(Code::Unauthenticated));
    }
}
