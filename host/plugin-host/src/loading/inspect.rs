//! All that can be said about a component without letting it serve.

use std::sync::{Mutex, PoisonError};

use crate::calls::convert::About;
use crate::calls::limits::Limits;
use crate::health_policy::{PolicyAbout, PolicyLimits};
use crate::loading::load::{Loaded, Loader, Progress};
use crate::loading::verify::{self, Outside};
use crate::output_limits as bounds;
use crate::sources::remote::Origin;
use crate::sources::{Declared, Encoding, PluginKind};
use machinist_artifacts::ContentDigest;

/// The description of a component. Unknown facts are absent, and `refusal` says why.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// How it was packed.
    pub encoding: Encoding,
    pub packed_bytes: usize,
    pub size_bytes: Option<usize>,
    pub digest: Option<ContentDigest>,
    pub outside: Option<Outside>,
    /// A driver's description of itself.
    pub about: Option<About>,
    /// The limits of one call of a driver, by its grants.
    pub limits: Option<Limits>,
    /// A policy's description of itself.
    pub policy: Option<PolicyAbout>,
    /// The limits of one call of a policy, by its terms.
    pub policy_limits: Option<PolicyLimits>,
    /// Why the host would not load it, in the host's words.
    pub refusal: Option<String>,
}

impl Inspected {
    fn nothing(declared: &Declared) -> Self {
        Self {
            encoding: declared.component.encoding(),
            packed_bytes: declared.component.size(),
            size_bytes: None,
            digest: None,
            outside: None,
            about: None,
            limits: None,
            policy: None,
            policy_limits: None,
            refusal: None,
        }
    }

    pub(crate) fn interrupted(declared: &Declared) -> Self {
        Self {
            refusal: Some("the inspection was interrupted: try again".to_owned()),
            ..Self::nothing(declared)
        }
    }
}

/// Loads it as a version that is to serve would be loaded, and keeps what that finds.
pub(crate) async fn inspect(loader: &Loader, declared: Declared) -> Inspected {
    let mut inspected = Inspected::nothing(&declared);
    match &declared.kind {
        PluginKind::Driver => {
            let raw = declared.grants.limits();
            inspected.limits = Limits::from_raw(raw, &loader.defaults, &loader.ceilings).ok();
        }
        PluginKind::HealthPolicy(terms) => inspected.policy_limits = Some(terms.limits.clone()),
    }
    if let Ok(bytes) = declared.component.unpack() {
        inspected.outside = verify::outside(&bytes, declared.kind.contract()).ok();
    }
    let fetched = Mutex::new(None);
    let tell = |progress| match progress {
        Progress::Fetched { digest, size_bytes } => {
            *fetched.lock().unwrap_or_else(PoisonError::into_inner) = Some((digest, size_bytes));
        }
        Progress::Resolved { .. } | Progress::Signed(_) | Progress::Verified | Progress::Compiled { .. } => {}
    };
    let component = Origin::Here(declared.component.clone());
    match loader.load(&declared.with(component), &tell).await {
        Ok(Loaded::Policy(_, about)) => inspected.policy = Some(about),
        Ok(Loaded::Driver(prepared, about)) => {
            inspected.limits = Some(prepared.limits);
            inspected.about = Some(about);
        }
        Err(error) => inspected.refusal = Some(bounds::reason(&error)),
    }
    let fetched = fetched.into_inner().unwrap_or_else(PoisonError::into_inner);
    (inspected.digest, inspected.size_bytes) = fetched.unzip();
    inspected
}
