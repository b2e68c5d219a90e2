//! Plugins in a directory: each is declared like a ConfigMap, and the directory is checked again and again.
//!
//! | where | what |
//! | --- | --- |
//! | `NAME.wasm`, `NAME.wasm.gz`, `NAME.wasm.zst` | a plugin that is only its component |
//! | `NAME/plugin.wasm`, `….gz`, `….zst` | the component of a plugin in a folder of its own |
//! | `NAME/settings.json`, `grants.yaml`, `rollout.yaml`, `policy.yaml`, `sha256`, `signature`, `bundle.json`, `bundle.sig` | beside it, the values of these keys of a ConfigMap |
//!
//! Names that begin with a dot are ignored. Links are followed as long as they stay in the directory, so that a mounted
//! ConfigMap can be a plugin's folder. A plugin that cannot be read is not treated as gone: it continues to serve.
//!
//! | module | what it does |
//! | --- | --- |
//! | `scan` | lists the directory without reading files |
//! | `due` | decides which plugins are to be read, and which are gone |
//! | `read` | reads one plugin |

mod due;
mod read;
mod scan;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use tokio::time::sleep;
use tracing::{info, warn};

use crate::host::HostState;
use crate::output_limits as bounds;
use crate::sources::SourceId;
use due::{Due, KnownPlugins};

/// The interval between two scans. A renamed file serves within a second of it; a scan costs one `stat` per file.
const PAUSE: Duration = Duration::from_millis(500);

/// How the directory is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryReport {
    pub path: PathBuf,
    /// Why it cannot be looked at, while that is so.
    pub trouble: Option<String>,
}

/// The state of the directory, if there is one.
#[derive(Debug, Default)]
pub(crate) struct DirectoryState(Mutex<Option<DirectoryReport>>);

impl DirectoryState {
    pub(crate) fn report(&self) -> Option<DirectoryReport> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// True when this is another state than before.
    fn set(&self, report: DirectoryReport) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_other = state.as_ref() != Some(&report);
        *state = Some(report);
        is_other
    }
}

/// Declares the plugins of the directory, then follows changes until the host ends. Waits once for files that are being
/// written at first, so that a query afterwards finds all plugins that were there at the start.
pub(crate) async fn follow(inner: &Arc<HostState>, root: PathBuf) {
    let root: Arc<Path> = Arc::from(root);
    let mut known = step(Arc::clone(inner), Arc::clone(&root), KnownPlugins::default()).await;
    if known.is_waiting() {
        sleep(PAUSE).await;
        known = step(Arc::clone(inner), Arc::clone(&root), known).await;
    }
    let closed = inner.has_closed.clone();
    let weak = Arc::downgrade(inner);
    inner.guests.normal.spawn(async move { closed.run_until_cancelled(again(weak, root, known)).await });
}

async fn again(inner: Weak<HostState>, root: Arc<Path>, mut known: KnownPlugins) {
    loop {
        sleep(PAUSE).await;
        let Some(inner) = inner.upgrade() else { return };
        known = step(inner, Arc::clone(&root), known).await;
    }
}

/// One look, and what follows from it. On a thread that may wait for a disk.
async fn step(inner: Arc<HostState>, root: Arc<Path>, known: KnownPlugins) -> KnownPlugins {
    let guests = inner.guests.normal.clone();
    // It fails only when the host is ending.
    guests.spawn_blocking(move || scan_once(&inner, &root, known)).await.unwrap_or_default()
}

fn scan_once(inner: &Arc<HostState>, root: &Path, mut known: KnownPlugins) -> KnownPlugins {
    let scanned = scan::scan(root);
    let trouble = scanned.as_ref().err().map(|error| bounds::reason(error));
    tell(inner, root, trouble);
    let Ok(scan) = scanned else { return known };
    for invalid in known.invalid(&scan.invalid) {
        warn!(directory = %root.display(), name = invalid, "no plugin: neither NAME.wasm nor a folder NAME");
    }
    known.under_rule(inner.strict.load(Ordering::Acquire));
    for due in known.next(scan.plugins, SystemTime::now()) {
        match due {
            Due::Gone(name) => {
                info!(plugin = name, "plugin is gone from the directory");
                let source = SourceId::in_directory(&name);
                inner.supersede(&source, None);
                inner.follow(inner.catalog.withdraw(&source));
            }
            Due::Read(name) => match read::read(root, &name) {
                Ok(raw) if known.is(&name, &scan::plugin(root, &name)) => {
                    inner.declare(&raw);
                }
                // It was changed while it was read.
                Ok(_) => known.again(&name),
                Err(error) => {
                    if error.is_passing() {
                        known.again(&name);
                    }
                    inner.follow(
                        inner.catalog.refuse(&SourceId::in_directory(&name), &bounds::reason(&error)),
                    );
                }
            },
        }
    }
    known
}

fn tell(inner: &HostState, root: &Path, trouble: Option<String>) {
    if trouble.is_some() {
        inner.metrics.directory_failed();
    }
    let is_new = inner.directory.set(DirectoryReport { path: root.to_owned(), trouble: trouble.clone() });
    match trouble {
        Some(trouble) if is_new => {
            warn!(directory = %root.display(), trouble, "plugins of the directory stay as they are");
        }
        None if is_new => info!(directory = %root.display(), "plugins of the directory are watched"),
        _ => {}
    }
}
