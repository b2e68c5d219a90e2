//! Remembers components that killed their compiler, over restarts of the host. An immediate retry would kill it again
//! and delay all others each time.
//!
//! A file beside the code says that an attempt has begun. An attempt that ends removes the file, or notes that the
//! compiler died. A file without a lock means that the whole host died during the attempt.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{CodeCache, prune};
use crate::calls::engine::CodeTier;
use crate::output_limits as bounds;
use machinist_artifacts::ContentDigest;

const SUFFIX: &str = "attempt";
/// A few hundred bytes each.
const MOST_FILES: usize = 256;
/// No record is larger.
const MOST_BYTES: u64 = 16 * 1024;

/// Attempts at one component in one tier that killed the compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttemptRecord {
    deaths: u32,
    /// Of the last one, in seconds since 1970.
    last: i64,
    how: String,
    /// As much memory as the compiler had.
    memory_bytes: u64,
    /// Another attempt has begun.
    is_running: bool,
}

/// The consequence of earlier attempts for the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// Nothing bad is known.
    Clean,
    /// It may be tried again, behind all others.
    Again,
    /// It is not to be tried before.
    Rests { deaths: u32, left: SignedDuration, how: String },
}

/// Returns the pause after so many deaths in a row.
fn pause(deaths: u32) -> SignedDuration {
    match deaths {
        0 => SignedDuration::ZERO,
        1 => SignedDuration::from_mins(1),
        2 => SignedDuration::from_mins(10),
        3 => SignedDuration::from_hours(1),
        _ => SignedDuration::from_hours(6),
    }
}

impl AttemptRecord {
    /// Completes a record whose host ended while the compiler ran.
    fn after_all(self) -> Self {
        if !self.is_running {
            return self;
        }
        let how = "the host ended while it was compiled".to_owned();
        Self { deaths: self.deaths.saturating_add(1), how, is_running: false, ..self }
    }

    fn history(self, memory_bytes: u64, now: Timestamp) -> History {
        let record = self.after_all();
        if record.deaths == 0 {
            return History::Clean;
        }
        // A clock that was set back must not make it rest for years.
        let since = now.as_second().saturating_sub(record.last).max(0);
        let left = pause(record.deaths) - SignedDuration::from_secs(since);
        if left.is_positive() && memory_bytes <= record.memory_bytes {
            return History::Rests { deaths: record.deaths, left, how: record.how };
        }
        History::Again
    }
}

impl CodeCache {
    /// Returns what is known of attempts to compile it, with so much memory for the compiler.
    pub(crate) fn history(
        &self,
        digest: &ContentDigest,
        tier: CodeTier,
        memory_bytes: u64,
        now: Timestamp,
    ) -> History {
        let Ok(mut file) = File::open(self.attempt_path(digest, tier)) else { return History::Clean };
        // Another host is at it, which is no death.
        if !is_locked(|| file.try_lock_shared().is_ok()) {
            return History::Clean;
        }
        read(&mut file).map_or(History::Clean, |record| record.history(memory_bytes, now))
    }

    /// Notes that an attempt begins.
    pub(crate) fn begin(
        &self,
        digest: &ContentDigest,
        tier: CodeTier,
        memory_bytes: u64,
        now: Timestamp,
    ) -> io::Result<Attempt> {
        let path = self.attempt_path(digest, tier);
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
        if !is_locked(|| file.try_lock().is_ok()) {
            return Ok(Attempt(None));
        }
        let former = read(&mut file).map(AttemptRecord::after_all).filter(|record| record.deaths > 0);
        let begun = AttemptRecord {
            deaths: former.as_ref().map_or(0, |record| record.deaths),
            last: now.as_second(),
            how: String::new(),
            memory_bytes,
            is_running: true,
        };
        write(&mut file, &begun)?;
        prune(&self.folder, SUFFIX, MOST_FILES)?;
        Ok(Attempt(Some(OpenAttempt { file, path, former, begun })))
    }

    fn attempt_path(&self, digest: &ContentDigest, tier: CodeTier) -> PathBuf {
        self.path_of(SUFFIX, digest, tier)
    }
}

/// An attempt that has begun. Dropped, it never was: the compiler was ended for the sake of another.
pub(crate) struct Attempt(Option<OpenAttempt>);

struct OpenAttempt {
    file: File,
    path: PathBuf,
    former: Option<AttemptRecord>,
    begun: AttemptRecord,
}

impl Attempt {
    /// The compiler came to an end, with code or with a reason.
    pub(crate) fn ended(mut self) {
        if let Some(running) = self.0.take() {
            running.forget();
        }
    }

    /// The compiler died of it.
    pub(crate) fn died(mut self, how: &str, now: Timestamp) {
        if let Some(mut running) = self.0.take() {
            let OpenAttempt { begun, .. } = &running;
            let record = AttemptRecord {
                deaths: begun.deaths.saturating_add(1),
                last: now.as_second(),
                how: bounds::shown(how),
                memory_bytes: begun.memory_bytes,
                is_running: false,
            };
            // Without it the next attempt comes sooner, and nothing else happens.
            let _noted = write(&mut running.file, &record);
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let Some(mut running) = self.0.take() else { return };
        match running.former.take() {
            Some(former) => {
                let _noted = write(&mut running.file, &former);
            }
            None => running.forget(),
        }
    }
}

impl OpenAttempt {
    fn forget(self) {
        // First its content: another host may have opened the file, and reads it when the lock is gone.
        let _emptied = self.file.set_len(0);
        let _removed = fs::remove_file(&self.path);
    }
}

/// Tries a few times: a child that has just been forked holds the locks of its parent until it is another program.
fn is_locked(try_it: impl Fn() -> bool) -> bool {
    const TRIES: usize = 20;
    const PAUSE: Duration = Duration::from_millis(5);
    for _ in 1..TRIES {
        if try_it() {
            return true;
        }
        thread::sleep(PAUSE);
    }
    try_it()
}

fn read(file: &mut File) -> Option<AttemptRecord> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(MOST_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write(file: &mut File, record: &AttemptRecord) -> io::Result<()> {
    let text = serde_json::to_vec(record)?;
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&text)?;
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::loading::code_cache::key::{CacheKey, MacKey};

    const TIER: CodeTier = CodeTier::Quick;

    fn cache(folder: &Path) -> CodeCache {
        CodeCache::open(folder, MacKey::open(&CacheKey::Bytes([1; 32])).expect("a key"), [7; 32])
            .expect("opens")
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("in range")
    }

    fn rests(deaths: u32, seconds: i64, how: &str) -> History {
        History::Rests { deaths, left: SignedDuration::from_secs(seconds), how: how.to_owned() }
    }

    #[test]
    fn each_death_makes_the_pause_longer_and_an_end_forgets_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let digest = ContentDigest::of(b"bomb");
        let die = |second| {
            // Another process each time.
            let cache = cache(folder.path());
            cache.begin(&digest, TIER, 100, at(second)).expect("writable").died("signal: 9", at(second));
        };
        let history = |memory, second| cache(folder.path()).history(&digest, TIER, memory, at(second));
        assert_eq!(history(100, 0), History::Clean);
        for (deaths, pause) in [(1, 60), (2, 600), (3, 3_600), (4, 21_600), (5, 21_600)] {
            die(0);
            assert_eq!(history(100, 0), rests(deaths, pause, "signal: 9"));
            assert_eq!(history(100, pause - 1), rests(deaths, 1, "signal: 9"));
            assert_eq!(history(100, pause), History::Again);
            assert_eq!(history(100, -1_000_000), rests(deaths, pause, "signal: 9"), "the clock was set back");
        }
        assert_eq!(history(101, 0), History::Again, "more memory is another attempt");
        let cache = cache(folder.path());
        assert_eq!(cache.history(&ContentDigest::of(b"other"), TIER, 100, at(0)), History::Clean);
        assert_eq!(cache.history(&digest, CodeTier::Optimised, 100, at(0)), History::Clean);
        cache.begin(&digest, TIER, 100, at(30_000)).expect("writable").ended();
        assert_eq!(history(100, 30_000), History::Clean);
        assert_eq!(fs::read_dir(folder.path()).expect("is there").count(), 0);
    }

    #[test]
    fn an_attempt_that_is_given_up_leaves_what_was_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let (cache, digest) = (cache(folder.path()), ContentDigest::of(b"bomb"));
        drop(cache.begin(&digest, TIER, 100, at(0)).expect("writable"));
        assert_eq!(cache.history(&digest, TIER, 100, at(0)), History::Clean);
        cache.begin(&digest, TIER, 100, at(0)).expect("writable").died("slow", at(0));
        drop(cache.begin(&digest, TIER, 100, at(100)).expect("writable"));
        assert_eq!(cache.history(&digest, TIER, 100, at(10)), rests(1, 50, "slow"));
    }

    #[test]
    fn a_host_that_opened_the_record_before_the_attempt_ended_sees_no_death() {
        let folder = tempfile::tempdir().expect("a folder");
        let (cache, digest) = (cache(folder.path()), ContentDigest::of(b"good"));
        let running = cache.begin(&digest, TIER, 100, at(0)).expect("writable");
        let mut opened = File::open(cache.attempt_path(&digest, TIER)).expect("is there");
        running.ended();
        assert!(is_locked(|| opened.try_lock_shared().is_ok()));
        assert_eq!(read(&mut opened), None);
    }

    #[test]
    fn an_attempt_that_took_the_host_along_counts_and_one_of_another_host_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (cache, digest) = (cache(folder.path()), ContentDigest::of(b"bomb"));
        let running = cache.begin(&digest, TIER, 100, at(0)).expect("writable");
        assert_eq!(cache.history(&digest, TIER, 100, at(1)), History::Clean, "it runs");
        drop(cache.begin(&digest, TIER, 100, at(1)).expect("beside it"));
        let path = cache.attempt_path(&digest, TIER);
        let left = fs::read(&path).expect("still there");
        running.ended();
        // As a process leaves it that is killed.
        fs::write(&path, left).expect("writable");
        let how = "the host ended while it was compiled";
        assert_eq!(cache.history(&digest, TIER, 100, at(1)), rests(1, 59, how));
        cache.begin(&digest, TIER, 100, at(100)).expect("writable").died("slow", at(100));
        assert_eq!(cache.history(&digest, TIER, 100, at(100)), rests(2, 600, "slow"));
        for invalid in ["", "{", "{\"deaths\":-1}"] {
            fs::write(&path, invalid).expect("writable");
            assert_eq!(cache.history(&digest, TIER, 100, at(1)), History::Clean, "{invalid:?}");
        }
    }
}
