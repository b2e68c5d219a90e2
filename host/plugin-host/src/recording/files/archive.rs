//! Takes recordings off the path of calls and writes them. What cannot be written in time is counted and told; the call goes
//! on as if nothing was recorded.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use machinist_core::value::id::PluginName;
use tokio::sync::oneshot;
use tracing::warn;

use super::folder::{Folder, WriteError};
use crate::metrics::{Metrics, RecordingOutcome};
use crate::recording::Tape;

/// Recordings that wait to be written. More are left out: a disk that is slower than the calls stays slower.
const MOST_WAITING: usize = 256;
/// Memory of those that wait.
const MOST_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// How often what was left out is told.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// What is recorded, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSettings {
    /// The folder. Made where it is not there.
    pub folder: PathBuf,
    /// Whose calls; empty: everybody's.
    pub plugins: BTreeSet<PluginName>,
    /// How large all recordings together may be. The oldest go.
    pub limit_bytes: u64,
}

/// A clone is the same archive; its thread ends with the last of them.
#[derive(Clone)]
pub(crate) struct Archive(Arc<Inner>);

struct Inner {
    plugins: BTreeSet<PluginName>,
    jobs: SyncSender<Job>,
    waiting_bytes: Arc<AtomicUsize>,
    metrics: Metrics,
}

enum Job {
    Write { tape: Tape, bytes: usize },
    Flush(oneshot::Sender<()>),
}

impl Archive {
    /// Opens the folder and starts the thread that writes.
    pub(crate) fn open(settings: &RecordSettings, metrics: Metrics) -> io::Result<Self> {
        let folder = Folder::open(&settings.folder, settings.limit_bytes)?;
        let (jobs, received) = sync_channel(MOST_WAITING);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let mut writer = Writer {
            folder,
            waiting_bytes: Arc::clone(&waiting_bytes),
            metrics: metrics.clone(),
            told: None,
        };
        std::thread::Builder::new().name("recordings".to_owned()).spawn(move || writer.run(&received))?;
        let plugins = settings.plugins.clone();
        Ok(Self(Arc::new(Inner { plugins, jobs, waiting_bytes, metrics })))
    }

    /// Whether calls of this plugin are recorded.
    pub(crate) fn wants(&self, plugin: &PluginName) -> bool {
        self.0.plugins.is_empty() || self.0.plugins.contains(plugin)
    }

    /// Takes the tape when what is returned is dropped.
    pub(crate) fn keep(&self, tape: Tape) -> Kept {
        Kept { archive: self.clone(), tape }
    }

    /// Waits until what was taken so far is written, up to `patience`.
    pub(crate) async fn flush(&self, patience: Duration) {
        let (done, is_done) = oneshot::channel();
        let jobs = self.0.jobs.clone();
        let sent = tokio::task::spawn_blocking(move || jobs.send(Job::Flush(done)));
        let flushed = async {
            let _sent = sent.await;
            let _done = is_done.await;
        };
        if tokio::time::timeout(patience, flushed).await.is_err() {
            warn!("recordings are not written in time");
        }
    }

    fn take(&self, tape: Tape) {
        let bytes = tape.size_bytes();
        let before = self.0.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let taken = before.saturating_add(bytes) <= MOST_WAITING_BYTES
            && match self.0.jobs.try_send(Job::Write { tape, bytes }) {
                Ok(()) => true,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
            };
        if !taken {
            self.0.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            // The writer tells of it: a log line takes time, too.
            self.0.metrics.recorded(RecordingOutcome::LeftOut);
        }
    }
}

/// Hands a tape over when its call is over, however it ended.
pub(crate) struct Kept {
    archive: Archive,
    tape: Tape,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.tape.is_on() {
            self.archive.take(std::mem::take(&mut self.tape));
        }
    }
}

struct Writer {
    folder: Folder,
    waiting_bytes: Arc<AtomicUsize>,
    metrics: Metrics,
    /// When it was told last, and how many were left out until then.
    told: Option<(Instant, u64)>,
}

impl Writer {
    fn run(&mut self, jobs: &Receiver<Job>) {
        while let Ok(job) = jobs.recv() {
            match job {
                Job::Write { tape, bytes } => {
                    self.write(&tape);
                    drop(tape);
                    self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
                    self.tell(None);
                }
                Job::Flush(done) => {
                    // Who waited may have gone.
                    let _ = done.send(());
                }
            }
        }
    }

    fn write(&mut self, tape: &Tape) {
        let Some(recording) = tape.finish() else { return };
        match self.folder.write(&recording) {
            Ok(_path) => self.metrics.recorded(RecordingOutcome::Written),
            Err(error) => {
                self.metrics.recorded(RecordingOutcome::Failed);
                self.tell(Some(&error));
            }
        }
    }

    /// Says what is missing, now and then.
    fn tell(&mut self, error: Option<&WriteError>) {
        let missing = self.metrics.recordings_missing();
        let (last, known) = self.told.map_or((None, 0), |(last, known)| (Some(last), known));
        let is_due = last.is_none_or(|last| last.elapsed() >= TELL_EVERY);
        if missing > known && is_due {
            let error = error.map(|error| error as &dyn std::error::Error);
            warn!(
                missing,
                error, "calls are not recorded: the folder of the recordings is too slow, full or broken"
            );
            self.told = Some((Instant::now(), missing));
        }
    }
}
