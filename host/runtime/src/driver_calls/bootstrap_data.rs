//! Bootstrap data by its digest, and since when this process has seen other data than an earlier create had.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::SignedDuration;
use machinist_core::value::id::{ObjectKey, Uid};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// Bytes of a digest. A change goes unnoticed once in four thousand million times, and the digest confirms a guess of
/// the data no better than that.
const BYTES: usize = 4;

/// Returns the digest of the data that the VM with this key gets at boot.
pub(crate) fn digest(key: &Uid, data: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(key.as_str());
    hash.update([0]);
    hash.update(data);
    hash.finalize().iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// Changes of bootstrap data. Lost with the process, which waits again: too long a wait does no harm.
#[derive(Debug, Default)]
pub(crate) struct DataChanges(Mutex<BTreeMap<ObjectKey, Noticed>>);

#[derive(Debug)]
struct Noticed {
    digest: String,
    since: Instant,
}

impl DataChanges {
    /// Returns how long ago this process has noticed that the data of an object is other than `noted`; `None` if it is
    /// not. `digest` is that of the data as it is.
    pub(crate) fn noticed_ago(
        &self,
        object: &ObjectKey,
        noted: Option<&str>,
        digest: &str,
    ) -> Option<SignedDuration> {
        let mut all = self.lock();
        if noted.is_none_or(|noted| noted == digest) {
            all.remove(object);
            return None;
        }
        let known = all.get(object).filter(|known| known.digest == digest).map(|known| known.since);
        let since = known.unwrap_or_else(|| {
            let since = Instant::now();
            all.insert(object.clone(), Noticed { digest: digest.to_owned(), since });
            since
        });
        Some(SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX))
    }

    /// The object is gone, or its VM is stored.
    pub(crate) fn forget(&self, object: &ObjectKey) {
        self.lock().remove(object);
    }

    /// Each change is one operation, so that a panic elsewhere leaves the memory whole.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Noticed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_digest_is_short_and_of_key_and_data() {
        let of = |key: &str, data: &[u8]| digest(&Uid::new(key), data);
        assert_eq!(of("u", b"data").len(), 2 * BYTES);
        assert_eq!(of("u", b"data"), of("u", b"data"));
        assert_ne!(of("u", b"data"), of("u", b"other"));
        assert_ne!(of("u", b"data"), of("v", b"data"), "one secret has many digests");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_counts_from_when_it_was_noticed_and_another_one_again() {
        let (changes, object) = (DataChanges::default(), ObjectKey::new("n", "m"));
        let ago = |noted, digest| changes.noticed_ago(&object, noted, digest).map(|ago| ago.as_secs());
        assert_eq!((ago(None, "b"), ago(Some("a"), "a")), (None, None));
        assert_eq!(ago(Some("a"), "b"), Some(0));
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(ago(Some("a"), "b"), Some(20));
        assert_eq!(ago(Some("a"), "c"), Some(0), "other data again");
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!((ago(Some("a"), "a"), ago(Some("a"), "c")), (None, Some(0)));
    }
}
