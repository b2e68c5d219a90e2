//! Rules for signatures: by which keys a plugin must be signed, and which parts a signature must cover.
//!
//! Where signatures are required, a signature covers a bundle ([`machinist_artifacts::bundle`]): component, grants,
//! settings, name, providers and a counter. A signature over the component alone says nothing about its grants, so it
//! is enough only for a driver whose grants stay below a ceiling.
//!
//! | module | what it does |
//! | --- | --- |
//! | `ceiling` | the grants ceiling, from files of the host |
//! | `counters` | the highest counter with which each plugin has served |

pub(crate) mod ceiling;
pub(crate) mod counters;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use machinist_artifacts::bundle::{Bundle, BundleError, Part, Parts};
use machinist_artifacts::signature::{Keyring, SignatureError};
use machinist_core::value::id::ProviderName;

use crate::sources::{DIRECTORY, SignedBundle, SourceId};

/// The keys whose signatures count, and the namespaces in which one is needed.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// One of these must have signed.
    pub keys: Keyring,
    /// Where what is not signed is refused.
    pub required: Required,
}

/// Where a signature is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Required {
    #[default]
    Nowhere,
    In(Vec<String>),
    Everywhere,
}

impl Required {
    /// The directory of plugins is as strict as this namespace.
    #[must_use]
    pub fn with_directory_as(self, namespace: &str) -> Self {
        match self {
            Self::In(mut namespaces) if namespaces.iter().any(|name| name == namespace) => {
                namespaces.push(DIRECTORY.to_owned());
                Self::In(namespaces)
            }
            other => other,
        }
    }
}

impl Trust {
    pub(crate) fn needs_signature(&self, source: &SourceId) -> bool {
        match &self.required {
            Required::Nowhere => false,
            Required::In(namespaces) => namespaces.iter().any(|name| name == source.namespace.as_str()),
            Required::Everywhere => true,
        }
    }
}

/// Why signatures do not let a version serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustError {
    #[error("plugins in this place must be signed, and it is not accepted")]
    Required(#[source] SignatureError),
    #[error(
        "plugins in this place must be signed, together with their grants, settings, name and providers, and here only the \
         component is: `machinist plugin push --sign KEY` or `plugin sign --configmap NAME` makes such a bundle, or \
         `plugin bundle` and `cosign sign-blob`"
    )]
    Bare,
    #[error("the signature beside it is not accepted")]
    Given(#[source] SignatureError),
    #[error("the signature of its bundle is not accepted")]
    OfBundle(#[source] SignatureError),
    #[error("its bundle is signed, and wrong")]
    Bundle(#[source] BundleError),
    #[error(
        "its bundle was signed for another {}: put back what was signed, or sign what is here with `machinist plugin sign \
         --configmap NAME`",
        named(.0)
    )]
    Differs(BTreeSet<Part>),
}

/// A driver claims a provider for which it was not signed.
#[derive(Debug, thiserror::Error)]
#[error(
    "it claims provider {provider}, and its bundle was signed for {} only: sign it for that provider as well, if the plugin \
     may serve it",
    named(.signed)
)]
pub(crate) struct UnsignedProvider {
    provider: ProviderName,
    signed: BTreeSet<ProviderName>,
}

fn named(all: &BTreeSet<impl ToString>) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How strict the host is with a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A signature that is there must be good; none is needed.
    Free,
    /// A signature over the component is enough: what it may do has a ceiling.
    Component,
    /// A bundle is needed.
    Bundle,
}

/// A version with checked signatures.
pub(crate) struct Evidence<'a> {
    pub(crate) parts: &'a Parts,
    /// Beside it, or beside its artifact. One that is good is enough.
    pub(crate) bundles: &'a [SignedBundle],
    /// Over the bytes of the component.
    pub(crate) signature: Option<&'a str>,
    /// The bytes, where there is a signature.
    pub(crate) component: &'a [u8],
    /// The key that has signed its artifact.
    pub(crate) signer: Option<String>,
}

/// The key that has signed a version, and the parts that it has signed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signed {
    pub(crate) signer: Option<String>,
    pub(crate) bundle: Option<Bundle>,
    /// Versions of the plugin are ordered by their counters, where signatures are needed.
    pub(crate) counts: bool,
}

impl Signed {
    /// Returns the counter by which the registry orders versions.
    pub(crate) fn counter(&self) -> Option<u64> {
        self.bundle.as_ref().filter(|_| self.counts).map(|bundle| bundle.counter)
    }

    /// Whether a driver may serve what it claims, by its bundle.
    pub(crate) fn check_providers(&self, claimed: &[ProviderName]) -> Result<(), UnsignedProvider> {
        let Some(bundle) = &self.bundle else { return Ok(()) };
        let signed: BTreeSet<ProviderName> =
            bundle.providers.iter().map(|name| ProviderName::folded(name)).collect();
        match claimed.iter().find(|provider| !signed.contains(*provider)) {
            None => Ok(()),
            Some(provider) => Err(UnsignedProvider { provider: provider.clone(), signed }),
        }
    }
}

/// Whether a version may be loaded, by what is signed of it.
pub(crate) fn judge(keys: &Keyring, rule: Rule, evidence: Evidence<'_>) -> Result<Signed, TrustError> {
    let counts = rule != Rule::Free;
    // No trusted keys are set.
    if keys.is_empty() && rule == Rule::Free {
        return Ok(Signed::default());
    }
    if !evidence.bundles.is_empty() {
        let (signer, bundle) = best(keys, &evidence)?;
        return Ok(Signed { signer: Some(signer), bundle: Some(bundle), counts });
    }
    let signer = match evidence.signature {
        Some(signature) => {
            let key = keys.check_blob(evidence.component, signature).map_err(TrustError::Given)?;
            Some(key.name().to_owned())
        }
        None => evidence.signer,
    };
    match (rule, &signer) {
        (Rule::Free, _) | (Rule::Component, Some(_)) => Ok(Signed { signer, bundle: None, counts }),
        (Rule::Bundle, Some(_)) => Err(TrustError::Bare),
        (Rule::Component | Rule::Bundle, None) => Err(TrustError::Required(SignatureError::Unsigned)),
    }
}

/// Of those that are good the one with the greatest counter, else what is wrong with the one that comes nearest.
fn best(keys: &Keyring, evidence: &Evidence<'_>) -> Result<(String, Bundle), TrustError> {
    let mut good: Option<(String, Bundle)> = None;
    let mut nearest = TrustError::Required(SignatureError::Unsigned);
    for signed in evidence.bundles {
        match one(keys, signed, evidence.parts) {
            Ok(found) if good.as_ref().is_none_or(|best| best.1.counter < found.1.counter) => {
                good = Some(found);
            }
            Ok(_) => {}
            Err(error) if rank(&error) > rank(&nearest) => nearest = error,
            Err(_) => {}
        }
    }
    good.ok_or(nearest)
}

/// Orders errors: a signed document is nearer than an unsigned one, and a bundle nearer than nonsense.
fn rank(error: &TrustError) -> u8 {
    match error {
        TrustError::Required(_) | TrustError::Bare | TrustError::Given(_) => 0,
        TrustError::OfBundle(_) => 1,
        TrustError::Bundle(_) => 2,
        TrustError::Differs(_) => 3,
    }
}

fn one(keys: &Keyring, signed: &SignedBundle, there: &Parts) -> Result<(String, Bundle), TrustError> {
    let text = signed.text.trim_end();
    // Nothing is computed over what no bundle can be.
    if text.len() > machinist_artifacts::bundle::MOST_BYTES {
        return Err(TrustError::Bundle(BundleError::TooLong { bytes: text.len() }));
    }
    let key = keys.check_blob(text.as_bytes(), &signed.signature).map_err(TrustError::OfBundle)?;
    let bundle = Bundle::parse(text).map_err(TrustError::Bundle)?;
    let differences = bundle.differences(there);
    if !differences.is_empty() {
        return Err(TrustError::Differs(differences));
    }
    Ok((key.name().to_owned(), bundle))
}
