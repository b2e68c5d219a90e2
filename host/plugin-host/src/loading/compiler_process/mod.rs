//! Compilation in a child process, so that its tens of seconds and hundreds of megabytes do not burden the host. It has
//! low priority, limits and an empty environment. One component is compiled at a time, once for each digest and tier.
//! The memory is set aside from the budget.
//!
//! The child reads the component from its stdin, behind a header with the task and its memory limit, and writes the
//! code to its stdout, which is a file. Before it reads the component it gives up everything else (`confine`). Its
//! stdin stays open as long as the parent lives; when it closes, the child ends.
//!
//! | module | what it does |
//! | --- | --- |
//! | `child` | the child's side |
//! | `confine` | takes rights away from the child |
//! | `calls` | the system calls that a compiler needs |

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::calls::engine::CodeKind;
use crate::calls::engine::CodeTier;
use crate::loading::shape;

mod calls;
pub(crate) mod child;
pub(crate) mod confine;

use confine::Confinement;

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the component does not compile: {detail}")]
    Rejected { detail: String },
    #[error("failed to run the compiler {}", exe.display())]
    Run {
        exe: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the compiler does not work: {detail}")]
    Broken { detail: String },
    #[error("the compiler took more than {} s", limit.as_secs())]
    Deadline { limit: Duration },
    /// It has more code than the host compiles, or code that cannot be read.
    #[error(transparent)]
    Shape(shape::Error),
    #[error(
        "the compiler needs more than the {} MiB that it may use: raise the memory limit of the pod or --plugin-memory, \
         or make the component smaller", limit_bytes >> 20
    )]
    Memory { limit_bytes: u64 },
    /// It died of this component before, and is not tried again yet.
    #[error(
        "the compiler died of it {deaths} times, most recently: {how}; change the component, or give the host more memory"
    )]
    Rests {
        /// How often in a row.
        deaths: u32,
        /// Until the next attempt.
        left: SignedDuration,
        /// Of the last time.
        how: String,
    },
    #[error("the compiler ended with {status}: {detail}")]
    Died {
        status: String,
        /// The end of its stderr.
        detail: String,
    },
}

impl Error {
    /// True when the fault may be the compiler's, and another one may take the component.
    pub(crate) fn is_of_this_tier(&self) -> bool {
        match self {
            Self::Rejected { .. } | Self::Died { .. } | Self::Memory { .. } | Self::Rests { .. } => true,
            Self::Run { .. } | Self::Broken { .. } | Self::Deadline { .. } | Self::Shape(_) => false,
        }
    }

    /// True when the same component may compile at another time.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Rejected { .. } | Self::Shape(_) => false,
            Self::Run { .. }
            | Self::Broken { .. }
            | Self::Deadline { .. }
            | Self::Memory { .. }
            | Self::Died { .. }
            | Self::Rests { .. } => true,
        }
    }

    /// True when the component is to blame, and another attempt at once would end in the same way.
    pub(crate) fn is_death(&self) -> bool {
        match self {
            Self::Deadline { .. } | Self::Memory { .. } | Self::Died { .. } => true,
            Self::Rejected { .. }
            | Self::Run { .. }
            | Self::Broken { .. }
            | Self::Shape(_)
            | Self::Rests { .. } => false,
        }
    }

    /// Returns how long it is left alone.
    pub(crate) fn rests_for(&self) -> Option<Duration> {
        match self {
            Self::Rests { left, .. } => Some(left.unsigned_abs()),
            Self::Rejected { .. }
            | Self::Run { .. }
            | Self::Broken { .. }
            | Self::Deadline { .. }
            | Self::Memory { .. }
            | Self::Died { .. }
            | Self::Shape(_) => None,
        }
    }
}

/// The deadline of urgent code, and the share for each MiB: the largest components have 9 MiB, and take two seconds on
/// an idle processor.
const DEADLINE: Duration = Duration::from_secs(60);
const DEADLINE_PER_MIB: Duration = Duration::from_secs(30);
/// The deadline of background code. The largest components take 15 s on an idle processor; at low priority on a busy
/// one, a hundred times that.
const LOW_PRIORITY_DEADLINE: Duration = Duration::from_secs(1_800);
/// The message of a program whose allocator gets no memory, before it aborts.
const NO_MEMORY: &str = "memory allocation of ";
/// Processors that one compiler may use at the same time. More would only make it larger.
const MOST_THREADS: &str = "4";

/// Starts compilers. The caller must run one at a time.
pub(crate) struct Compiler {
    exe: PathBuf,
    args: Vec<OsString>,
    kind: CodeKind,
    on_confined: Box<dyn Fn(Confinement) + Send + Sync>,
}

#[derive(Clone, Copy)]
pub(crate) struct CompileJob<'a> {
    pub(crate) component: &'a [u8],
    pub(crate) tier: CodeTier,
    pub(crate) memory_bytes: u64,
    pub(crate) code_bytes: u64,
}

impl CompileJob<'_> {
    fn deadline(&self) -> Duration {
        match self.tier {
            CodeTier::Baseline | CodeTier::Quick => {
                let mib = u32::try_from(self.code_bytes >> 20).unwrap_or(u32::MAX);
                DEADLINE + DEADLINE_PER_MIB.saturating_mul(mib)
            }
            CodeTier::Optimised => LOW_PRIORITY_DEADLINE,
        }
    }
}

impl Compiler {
    /// `on_confined` receives the layers that hold, for each child.
    pub(crate) fn new(
        exe: PathBuf,
        args: Vec<OsString>,
        kind: CodeKind,
        on_confined: impl Fn(Confinement) + Send + Sync + 'static,
    ) -> Self {
        Self { exe, args, kind, on_confined: Box::new(on_confined) }
    }

    pub(crate) fn kind(&self) -> CodeKind {
        self.kind
    }

    /// Compiles into `output`, which is written from its start. Dropping the future ends the child.
    pub(crate) async fn compile(&self, job: CompileJob<'_>, output: File) -> Result<(), Error> {
        let mut child = self.spawn(output).map_err(|source| self.run_error(source))?;
        let limit = job.deadline();
        match timeout(limit, self.feed_and_wait(&mut child, job)).await {
            Ok(outcome) => outcome,
            Err(_elapsed) => Err(Error::Deadline { limit }),
        }
    }

    fn spawn(&self, output: File) -> io::Result<Child> {
        Command::new(&self.exe)
            .args(&self.args)
            // Nothing of the host's environment is the compiler's business.
            .env_clear()
            .env("RAYON_NUM_THREADS", MOST_THREADS)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }

    async fn feed_and_wait(&self, child: &mut Child, job: CompileJob<'_>) -> Result<(), Error> {
        let (Some(mut stdin), Some(mut stderr)) = (child.stdin.take(), child.stderr.take()) else {
            return Err(self.run_error(io::Error::other("the compiler has no pipes")));
        };
        let feed = async {
            let length = u64::try_from(job.component.len()).unwrap_or(u64::MAX);
            let CompileJob { tier, memory_bytes, .. } = job;
            let header = child::Header { length, kind: self.kind, tier, memory_bytes };
            stdin.write_all(&header.bytes()).await?;
            stdin.write_all(job.component).await?;
            stdin.flush().await
        };
        let listen = async {
            let mut output = Vec::new();
            // The rest is not read: a compiler that writes more stalls, and the deadline ends it.
            let _read = (&mut stderr).take(16 * 1024).read_to_end(&mut output).await;
            String::from_utf8_lossy(&output).into_owned()
        };
        // A compiler that dies early breaks the pipe; its exit status is the better explanation.
        let (_fed, output) = tokio::join!(feed, listen);
        // Said before it has read anything of the component.
        let (confinement, output) = Confinement::read(&output);
        if let Some(confinement) = confinement {
            (self.on_confined)(confinement);
        }
        let output = output.trim().to_owned();
        let status = child.wait().await.map_err(|source| self.run_error(source))?;
        drop(stdin);
        match status.code() {
            Some(0) => Ok(()),
            Some(code) if code == i32::from(child::REJECTED) => Err(Error::Rejected { detail: output }),
            Some(code) if code == i32::from(child::FAILED) => Err(Error::Broken { detail: output }),
            Some(_) | None if output.contains(NO_MEMORY) => {
                Err(Error::Memory { limit_bytes: job.memory_bytes })
            }
            Some(_) | None => Err(Error::Died { status: status.to_string(), detail: output }),
        }
    }

    fn run_error(&self, source: io::Error) -> Error {
        Error::Run { exe: self.exe.clone(), source }
    }
}
