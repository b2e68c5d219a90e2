//! Idempotency keys: what was asked for under each, and what came of it.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::wire::error::{ApiError, Code};

/// Longer keys are refused, as clouds do.
const KEY_LIMIT_BYTES: usize = 128;

/// The purpose of a key; the same key may be used once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    Vm,
    Volume,
}

/// All keys ever used. They are never forgotten.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    used: HashMap<(Arc<str>, Purpose, String), Use>,
}

#[derive(Debug)]
struct Use {
    fingerprint: [u8; 32],
    made: u64,
}

/// A key together with what is asked for under it.
#[derive(Debug)]
pub(crate) struct KeyedRequest {
    key: (Arc<str>, Purpose, String),
    fingerprint: [u8; 32],
}

impl KeyedRequest {
    pub(crate) fn new(
        account: &Arc<str>,
        purpose: Purpose,
        key: &str,
        wanted: &impl Serialize,
    ) -> Result<Self, ApiError> {
        if key.is_empty() || key.len() > KEY_LIMIT_BYTES {
            return Err(ApiError::invalid(format!("Idempotency-Key must have 1 to {KEY_LIMIT_BYTES} bytes")));
        }
        let canonical = serde_json::to_vec(wanted).map_err(|error| ApiError::invalid(error.to_string()))?;
        Ok(Self {
            key: (Arc::clone(account), purpose, key.to_owned()),
            fingerprint: Sha256::digest(&canonical).into(),
        })
    }
}

impl Keys {
    /// The number of what was made under the key; an error if something else was asked for.
    pub(crate) fn made(&self, keyed: &KeyedRequest) -> Result<Option<u64>, ApiError> {
        match self.used.get(&keyed.key) {
            None => Ok(None),
            Some(earlier) if earlier.fingerprint == keyed.fingerprint => Ok(Some(earlier.made)),
            Some(_) => Err(ApiError::new(
                Code::IdempotencyMismatch,
                "the idempotency key was used with other parameters",
            )),
        }
    }

    pub(crate) fn remember(&mut self, keyed: KeyedRequest, made: u64) {
        self.used.insert(keyed.key, Use { fingerprint: keyed.fingerprint, made });
    }
}

/// The answer to a key whose object was deleted.
pub(crate) fn gone() -> ApiError {
    ApiError::new(Code::IdempotencyGone, "what was made under the idempotency key was deleted")
}
