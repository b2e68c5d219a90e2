//! The one vocabulary of failure between a driver, the plugin host and the controllers.

use std::fmt;

use jiff::SignedDuration;

use crate::driver::secret_rule::SecretRefusal;
use crate::value::digest::DriverDigest;
use crate::value::id::{NodeName, ProviderId};
use crate::value::words::words;

words! {
    /// The closed set of codes, numbered and named as machine-controller-manager does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Code with name {
        /// The caller gave up.
        Canceled = "Canceled",
        Unknown = "Unknown",
        /// The class or machine can never work as it is.
        InvalidArgument = "InvalidArgument",
        DeadlineExceeded = "DeadlineExceeded",
        NotFound = "NotFound",
        /// The name is taken.
        AlreadyExists = "AlreadyExists",
        /// The identity lacks a right.
        PermissionDenied = "PermissionDenied",
        /// Quota or capacity is used up.
        ResourceExhausted = "ResourceExhausted",
        /// A person must fix something first.
        FailedPrecondition = "FailedPrecondition",
        /// A concurrent change prevented it.
        Aborted = "Aborted",
        OutOfRange = "OutOfRange",
        Unimplemented = "Unimplemented",
        Internal = "Internal",
        Unavailable = "Unavailable",
        DataLoss = "DataLoss",
        /// The credentials are not accepted.
        Unauthenticated = "Unauthenticated",
        /// The machine exists, a step after its creation is missing.
        Uninitialized = "Uninitialized",
    }
}

impl Code {
    pub fn number(self) -> u8 {
        self as u8 + 1
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error that a driver returned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("machine codes error: code = [{code}] message = [{message}]")]
pub struct DriverError {
    pub code: Code,
    pub message: String,
    pub cloud_code: Option<String>,
    /// Do not ask again before.
    pub retry_after: Option<SignedDuration>,
    /// A retry does not help until something changes.
    pub terminal: bool,
    /// The cloud may have carried out the call.
    pub may_have_happened: bool,
    /// The state to pass to the next call; `None` leaves the stored one.
    pub last_known_state: Option<String>,
    /// The machine, where it is known.
    pub provider_id: Option<ProviderId>,
    /// Its Node's name, where it is known.
    pub node_name: Option<NodeName>,
}

impl DriverError {
    /// An error with nothing but code and message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            cloud_code: None,
            retry_after: None,
            terminal: false,
            may_have_happened: false,
            last_known_state: None,
            provider_id: None,
            node_name: None,
        }
    }
}

words! {
    /// A limit of the sandbox.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Limit with name {
        Memory = "memory",
        Tables = "tables",
        CpuTime = "cpu-time",
        /// Units of work, where CPU time would differ between machines.
        Fuel = "fuel",
        /// Time on the wall.
        Deadline = "deadline",
        Stack = "stack",
        /// Bytes that cross the boundary of the sandbox.
        CopiedBytes = "copied-bytes",
        /// Handles of host resources.
        Handles = "handles",
        /// Calls of this plugin at the same time.
        CallsInFlight = "calls-in-flight",
        /// Memory of the host that all plugins share.
        MemoryBudget = "memory-budget",
    }
}

/// How a plugin's component failed during a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuestFailure {
    /// It hit a limit of the sandbox.
    #[error("the plugin hit its {} limit ({detail})", limit.name())]
    Limit {
        limit: Limit,
        /// The limit's value, and what else helps.
        detail: String,
    },
    /// It trapped: a panic, an abort, an invalid access.
    #[error("the plugin trapped: {detail}")]
    Trap {
        /// The message of the engine and of the component's stderr.
        detail: String,
    },
    #[error("the plugin's answer breaks the contract: {detail}")]
    Contract { detail: String },
    #[error("the host ended the call: {detail}")]
    CutOff { detail: String },
}

/// Whether a failed call has sent anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// No request of the component left the host.
    Nothing,
    /// A request left the host, or that is unknown.
    Perhaps,
}

/// A call that broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub failure: GuestFailure,
    /// Whether a request had left the host by then.
    pub sent: Sent,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failure.source()
    }
}

/// Why the host did not make the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("no plugin serves provider {provider:?}{hint}")]
    UnknownProvider {
        /// As the class names it.
        provider: String,
        /// The providers that are served instead, as `; …`, or empty.
        hint: String,
    },
    /// The provider is served, but not by the version that the class pins.
    #[error("no driver for {provider} has digest {pin}, which the class pins; loaded: {loaded}")]
    NotLoaded {
        /// As the class names it.
        provider: String,
        /// The digest that the class pins.
        pin: DriverDigest,
        /// The versions that are there, and what an operator should know of others.
        loaded: String,
    },
    #[error("plugin {plugin} is not ready: {state}")]
    NotReady { plugin: String, state: String },
    /// Its plugin may be loading, which takes moments.
    #[error("the driver of provider \"{provider}\" is being loaded: {loading}")]
    Loading {
        /// As the class names it.
        provider: String,
        /// The plugin that is being loaded, for people.
        loading: String,
    },
    /// Too many calls are waiting already.
    #[error("too many calls of plugin {plugin} are in flight")]
    Busy { plugin: String },
    /// The rate limit of its grants is reached.
    #[error(
        "plugin {plugin} may be called {per_minute} times a minute: the next call is possible in {retry_after:#}; raise limits.calls_per_minute of its grants if that is too few"
    )]
    TooOften {
        plugin: String,
        /// The limit of its grants.
        per_minute: u32,
        /// Until the next call can be made.
        retry_after: SignedDuration,
    },
    /// Other calls used the memory that it needed, for as long as it could wait.
    #[error("no memory for a call of plugin {plugin}: {detail}")]
    NoMemory {
        plugin: String,
        /// How much there is, and what helps.
        detail: String,
    },
    /// The class may not use a Secret that it names.
    #[error(transparent)]
    Secret(#[from] SecretRefusal),
    /// The class's Secrets are bound to other plugins.
    #[error(
        "the Secrets of the class are not for plugin {plugin}, which serves it: add the plugin to their annotation machinist.dev/plugins, or name others"
    )]
    SecretsOfOthers {
        /// The plugin that would get them.
        plugin: String,
    },
    #[error("the host is shutting down")]
    ShuttingDown,
}

/// The three kinds of failed calls, which are never mixed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The driver answered with an error: the provider's problem, retried by code.
    #[error(transparent)]
    Guest(#[from] DriverError),
    /// The component failed: the plugin's problem. Unless nothing was sent, the cloud may have carried out the call.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// The host refused: the operator's problem. Nothing was sent.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// A failure of a call that may have sent something.
impl From<GuestFailure> for CallError {
    fn from(failure: GuestFailure) -> Self {
        Self::Broken(Broken { failure, sent: Sent::Perhaps })
    }
}

impl CallError {
    /// Returns the same error with this information about sent requests.
    #[must_use]
    pub fn having_sent(self, sent: Sent) -> Self {
        match self {
            Self::Broken(broken) => Self::Broken(Broken { sent, ..broken }),
            other @ (Self::Guest(_) | Self::Refused(_)) => other,
        }
    }

    /// For metrics and Events: a closed set.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Guest(_) => "guest",
            Self::Broken(_) => "broken",
            Self::Refused(_) => "refused",
        }
    }

    /// Returns the code by which controllers treat it.
    pub fn code(&self) -> Code {
        match self {
            Self::Guest(error) => error.code,
            Self::Broken(Broken { failure, .. }) => match failure {
                GuestFailure::Limit { limit: Limit::Deadline | Limit::CpuTime, .. } => Code::DeadlineExceeded,
                GuestFailure::CutOff { .. } => Code::Canceled,
                GuestFailure::Limit { .. } | GuestFailure::Trap { .. } | GuestFailure::Contract { .. } => {
                    Code::Internal
                }
            },
            Self::Refused(
                Refusal::UnknownProvider { .. }
                | Refusal::NotLoaded { .. }
                | Refusal::Secret(_)
                | Refusal::SecretsOfOthers { .. },
            ) => Code::FailedPrecondition,
            Self::Refused(_) => Code::Unavailable,
        }
    }

    /// Returns the pause before the next attempt, if known.
    pub fn retry_after(&self) -> Option<SignedDuration> {
        match self {
            Self::Guest(error) => error.retry_after,
            Self::Refused(Refusal::TooOften { retry_after, .. }) => Some(*retry_after),
            Self::Broken(_) | Self::Refused(_) => None,
        }
    }

    /// Returns whether the driver says that no retry helps before a change.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Guest(error) if error.terminal)
    }

    /// Returns true when the cloud may have carried out the call although it failed.
    pub fn may_have_happened(&self) -> bool {
        match self {
            Self::Guest(error) => error.may_have_happened,
            Self::Broken(broken) => broken.sent == Sent::Perhaps,
            Self::Refused(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_numbered_from_one_to_seventeen_in_order() {
        let numbers: Vec<u8> = Code::ALL.iter().map(|code| code.number()).collect();
        assert_eq!(numbers, (1..=17).collect::<Vec<u8>>());
    }

    #[test]
    fn an_error_reads_as_other_programs_parse_it() {
        let error = DriverError::new(Code::ResourceExhausted, "no t3.large in a");
        assert_eq!(
            error.to_string(),
            "machine codes error: code = [ResourceExhausted] message = [no t3.large in a]"
        );
    }

    #[test]
    fn a_broken_call_may_have_happened_unless_it_sent_nothing_and_a_refused_one_has_not() {
        let broken = CallError::from(GuestFailure::Trap { detail: "unreachable".into() });
        let refused = CallError::from(Refusal::ShuttingDown);
        assert!(broken.may_have_happened() && !refused.may_have_happened());
        assert!(!broken.clone().having_sent(Sent::Nothing).may_have_happened());
        assert!(broken.having_sent(Sent::Perhaps).may_have_happened());
    }
}
