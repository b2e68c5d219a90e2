//! Writes recordings in the background. Recordings that cannot be written in time are dropped, counted and logged; the
//! call continues as if it was not recorded.

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
use crate::metrics::Metrics;
use crate::recording::CallRecording;

/// Recordings that wait to be written. More are left out: a disk that is slower than the calls stays slower.
const MOST_WAITING: usize = 256;
/// Memory of those that wait.
const MOST_WAITING_BYTES: usize = 64 * 1024 * 1024;
/// How often dropped recordings are logged.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// The plugins that are recorded, and the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSettings {
    /// The folder. Made where it is not there.
    pub folder: PathBuf,
    /// The plugins; empty: all.
    pub plugins: BTreeSet<PluginName>,
    /// How large all recordings together may be. The oldest go.
    pub limit_bytes: u64,
}

/// A clone is the same archive; its thread ends with the last of them.
#[derive(Clone)]
pub(crate) struct Archive(Arc<ArchiveState>);

struct ArchiveState {
    plugins: BTreeSet<PluginName>,
    jobs: SyncSender<ArchiveJob>,
    waiting_bytes: Arc<AtomicUsize>,
    metrics: Metrics,
}

enum ArchiveJob {
    Write { recording: CallRecording, bytes: usize },
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
            last_reported: None,
        };
        std::thread::Builder::new().name("recordings".to_owned()).spawn(move || writer.run(&received))?;
        let plugins = settings.plugins.clone();
        Ok(Self(Arc::new(ArchiveState { plugins, jobs, waiting_bytes, metrics })))
    }

    /// Whether calls of this plugin are recorded.
    pub(crate) fn wants(&self, plugin: &PluginName) -> bool {
        self.0.plugins.is_empty() || self.0.plugins.contains(plugin)
    }

    /// Takes the recording when the guard is dropped.
    pub(crate) fn keep(&self, recording: CallRecording) -> RecordingGuard {
        RecordingGuard { archive: self.clone(), recording }
    }

    /// Waits until what was taken so far is written, up to `timeout`.
    pub(crate) async fn flush(&self, timeout: Duration) {
        let (done, is_done) = oneshot::channel();
        let jobs = self.0.jobs.clone();
        let sent = tokio::task::spawn_blocking(move || jobs.send(ArchiveJob::Flush(done)));
        let flushed = async {
            let _sent = sent.await;
            let _done = is_done.await;
        };
        if tokio::time::timeout(timeout, flushed).await.is_err() {
            warn!("recordings are not written in time");
        }
    }

    fn take(&self, recording: CallRecording) {
        let bytes = recording.size_bytes();
        let before = self.0.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let taken = before.saturating_add(bytes) <= MOST_WAITING_BYTES
            && match self.0.jobs.try_send(ArchiveJob::Write { recording, bytes }) {
                Ok(()) => true,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
            };
        if !taken {
            self.0.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            // The writer tells of it: a log line takes time, too.
            self.0.metrics.recorded("left-out");
        }
    }
}

/// Hands a recording over at the end of its call, however it ended.
pub(crate) struct RecordingGuard {
    archive: Archive,
    recording: CallRecording,
}

impl Drop for RecordingGuard {
    fn drop(&mut self) {
        if self.recording.is_on() {
            self.archive.take(std::mem::take(&mut self.recording));
        }
    }
}

struct Writer {
    folder: Folder,
    waiting_bytes: Arc<AtomicUsize>,
    metrics: Metrics,
    /// The time of the last log line, and the number of dropped recordings in it.
    last_reported: Option<(Instant, u64)>,
}

impl Writer {
    fn run(&mut self, jobs: &Receiver<ArchiveJob>) {
        while let Ok(job) = jobs.recv() {
            match job {
                ArchiveJob::Write { recording, bytes } => {
                    self.write(&recording);
                    drop(recording);
                    self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
                    self.report_missing(None);
                }
                ArchiveJob::Flush(done) => {
                    // The waiting caller may have gone.
                    let _ = done.send(());
                }
            }
        }
    }

    fn write(&mut self, recording: &CallRecording) {
        let Some(recording) = recording.finish() else { return };
        match self.folder.write(&recording) {
            Ok(_path) => self.metrics.recorded("written"),
            Err(error) => {
                self.metrics.recorded("failed");
                self.report_missing(Some(&error));
            }
        }
    }

    /// Logs dropped recordings, at most once per minute.
    fn report_missing(&mut self, error: Option<&WriteError>) {
        let missing = self.metrics.recordings_missing();
        let (last, known) = self.last_reported.map_or((None, 0), |(last, known)| (Some(last), known));
        let is_due = last.is_none_or(|last| last.elapsed() >= TELL_EVERY);
        if missing > known && is_due {
            let error = error.map(|error| error as &dyn std::error::Error);
            warn!(
                missing,
                error, "calls are not recorded: the folder of the recordings is too slow, full or broken"
            );
            self.last_reported = Some((Instant::now(), missing));
        }
    }
}
