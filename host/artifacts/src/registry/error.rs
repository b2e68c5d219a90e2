//! What can go wrong with a registry.

use std::time::Duration;

use super::RedirectError;
use crate::digest::ContentDigest;
use crate::manifest::ManifestError;
use crate::signature::cosign::DocumentError;

/// Why an artifact was not had, or not brought.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client refuses its settings.
    #[error("failed to set up the client for registries")]
    Setup(#[source] reqwest::Error),
    /// Nobody answers, or the connection broke.
    #[error("failed to reach registry {registry}")]
    Unreachable {
        /// Host and port.
        registry: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// It answers too slowly.
    #[error("registry {registry} is too slow: no {what} within {} s", within.as_secs())]
    Slow {
        /// Host and port.
        registry: String,
        /// What was waited for.
        what: String,
        /// The limit.
        within: Duration,
    },
    /// It wants another login, or one at all.
    #[error(
        "registry {registry} refuses {repository} {}: give it a login that may do this (for the host a Secret named in \
         oci-pull-secret, for commands `docker login` or --registry-auth)",
        if *has_login { "with this login" } else { "without a login" }
    )]
    Unauthorised {
        /// Host and port.
        registry: String,
        /// What was asked for.
        repository: String,
        /// Whether a login was tried.
        has_login: bool,
    },
    /// It asks for a login in a way that is not known, or that would give the login away.
    #[error("registry {registry} asks for a login in a way that is not followed: {detail}")]
    Challenge {
        /// Host and port.
        registry: String,
        /// What it asks, in our words.
        detail: String,
    },
    /// It is in a network in which no registry is asked.
    #[error("registry {registry} is not asked: {why}")]
    Prohibited {
        /// Host and port.
        registry: String,
        /// What is wrong with its address.
        why: &'static str,
    },
    /// It sends us elsewhere, where we do not go.
    #[error("registry {registry} answers {what} with a redirect that is not followed")]
    Redirect {
        /// Host and port.
        registry: String,
        /// What was asked for.
        what: String,
        /// Why not.
        #[source]
        source: RedirectError,
    },
    /// It is not there.
    #[error("registry {registry} has no {what}")]
    Absent {
        /// Host and port.
        registry: String,
        /// What was asked for.
        what: String,
    },
    /// It answers something else than was asked. Its text is no part of the message: whatever listens there might say
    /// what is not for those who read the message.
    #[error("registry {registry} answers {status} to {what}")]
    Answer {
        /// Host and port.
        registry: String,
        /// What was asked for.
        what: String,
        /// The status.
        status: u16,
        /// The beginning of what it says, on one line.
        said: String,
    },
    /// It answers well, but not what the protocol says.
    #[error("registry {registry} answers {what} otherwise than registries do: {detail}")]
    Protocol {
        /// Host and port.
        registry: String,
        /// What was asked for.
        what: String,
        /// What is wrong, in our words.
        detail: &'static str,
    },
    /// More bytes than may be.
    #[error("{what} of registry {registry} has more than {most} bytes, which are the most")]
    TooLarge {
        /// Host and port.
        registry: String,
        /// What.
        what: String,
        /// The limit.
        most: u64,
    },
    /// Not the bytes that were asked for.
    #[error(
        "registry {registry} answers other bytes than were asked for: {what} has the digest {found}, not {expected}"
    )]
    Digest {
        /// Host and port.
        registry: String,
        /// What.
        what: String,
        /// What was asked for.
        expected: ContentDigest,
        /// What came.
        found: ContentDigest,
    },
    /// Fewer or more bytes than the manifest says.
    #[error("registry {registry} answers {found} bytes for {what}, and its manifest says {expected}")]
    Size {
        /// Host and port.
        registry: String,
        /// What.
        what: String,
        /// By the manifest.
        expected: u64,
        /// What came.
        found: u64,
    },
    /// It is no component.
    #[error("{reference} is not a component in the layout for wasm")]
    Manifest {
        /// What was read.
        reference: String,
        /// Why not.
        #[source]
        source: ManifestError,
    },
    /// What is there in the place of signatures are none.
    #[error("the signatures in {reference} cannot be read")]
    Signatures {
        /// What was read.
        reference: String,
        /// Why not.
        #[source]
        source: DocumentError,
    },
}

impl Error {
    /// True when the same question may be answered otherwise at another time. What a manifest says is not taken back; all
    /// else is in the hands of others, who may mend it.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Slow { .. }
            | Self::Unauthorised { .. }
            | Self::Challenge { .. }
            | Self::Redirect { .. }
            | Self::Protocol { .. }
            | Self::Absent { .. }
            | Self::Answer { .. }
            | Self::Digest { .. }
            | Self::Size { .. }
            | Self::Signatures { .. } => true,
            Self::Setup(_) | Self::Prohibited { .. } | Self::TooLarge { .. } | Self::Manifest { .. } => false,
        }
    }

    /// The beginning of what the server says about its refusal: for a log or a terminal, never for a status.
    pub fn said(&self) -> Option<&str> {
        match self {
            Self::Answer { said, .. } if !said.is_empty() => Some(said),
            _ => None,
        }
    }
}
