//! Errors of requests to a registry.

use std::time::Duration;

use super::RedirectError;
use crate::digest::ContentDigest;
use crate::manifest::ManifestError;
use crate::signature::cosign::DocumentError;

/// An artifact could not be pulled or pushed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The client refuses its settings.
    #[error("failed to set up the client for registries")]
    Setup(#[source] reqwest::Error),
    /// Nobody answers, or the connection broke.
    #[error("failed to reach registry {registry}")]
    Unreachable {
        registry: String,
        #[source]
        source: reqwest::Error,
    },
    /// It answers too slowly.
    #[error("registry {registry} is too slow: no {what} within {} s", within.as_secs())]
    Slow { registry: String, what: String, within: Duration },
    /// It wants another login, or one at all.
    #[error(
        "registry {registry} refuses {repository} {}: give it a login that may do this (for the host a Secret named in \
         oci-pull-secret, for commands `docker login` or --registry-auth)",
        if *has_login { "with this login" } else { "without a login" }
    )]
    Unauthorised {
        registry: String,
        repository: String,
        /// Whether a login was tried.
        has_login: bool,
    },
    /// It asks for a login in a way that is not known, or that would give the login away.
    #[error("registry {registry} asks for a login in a way that is not followed: {detail}")]
    Challenge {
        registry: String,
        /// The kind of login that it asks for, in our words.
        detail: String,
    },
    /// It is in a network in which no registry is asked.
    #[error("registry {registry} is not asked: {why}")]
    Prohibited {
        registry: String,
        /// The problem with its address.
        why: &'static str,
    },
    /// It sends us elsewhere, where we do not go.
    #[error("registry {registry} answers {what} with a redirect that is not followed")]
    Redirect {
        registry: String,
        what: String,
        #[source]
        source: RedirectError,
    },
    /// It is not there.
    #[error("registry {registry} has no {what}")]
    Absent { registry: String, what: String },
    /// It answers with an error. Its text is no part of the message: any server may listen there, and its text may hold
    /// data that is not for the readers of the message.
    #[error("registry {registry} answers {status} to {what}")]
    Answer {
        registry: String,
        what: String,
        status: u16,
        /// The beginning of its text, on one line.
        text: String,
    },
    /// It answers with success, but not as the protocol says.
    #[error("registry {registry} answers {what} otherwise than registries do: {detail}")]
    Protocol {
        registry: String,
        what: String,
        /// The problem, in our words.
        detail: &'static str,
    },
    /// More bytes than may be.
    #[error("{what} of registry {registry} has more than {most} bytes, which are the most")]
    TooLarge { registry: String, what: String, most: u64 },
    /// Not the bytes that were asked for.
    #[error(
        "registry {registry} answers other bytes than were asked for: {what} has the digest {found}, not {expected}"
    )]
    Digest { registry: String, what: String, expected: ContentDigest, found: ContentDigest },
    /// Fewer or more bytes than the manifest says.
    #[error("registry {registry} answers {found} bytes for {what}, and its manifest says {expected}")]
    Size { registry: String, what: String, expected: u64, found: u64 },
    /// It is no component.
    #[error("{reference} is not a component in the layout for wasm")]
    Manifest {
        reference: String,
        #[source]
        source: ManifestError,
    },
    /// The artifact in the place of signatures holds none.
    #[error("the signatures in {reference} cannot be read")]
    Signatures {
        reference: String,
        #[source]
        source: DocumentError,
    },
}

impl Error {
    /// True when the same request may succeed later. A manifest does not change; other people may fix all other errors.
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
    pub fn server_text(&self) -> Option<&str> {
        match self {
            Self::Answer { text, .. } if !text.is_empty() => Some(text),
            _ => None,
        }
    }
}
