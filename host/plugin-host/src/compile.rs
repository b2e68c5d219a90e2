//! Compilation in a process of its own: tens of seconds and hundreds of megabytes must not be the host's.
//!
//! The child gets the component through its stdin, behind its length, the kind of code and its tier, and writes the code to its stdout, which is a file.
//! Its stdin stays open as long as the parent lives; when it ends, so does the child.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::engine::CodeKind;
use crate::tier::CodeTier;

pub(crate) mod child;

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The component cannot be compiled.
    #[error("the component does not compile: {detail}")]
    Rejected {
        /// What the compiler says.
        detail: String,
    },
    /// The compiler could not be started or fed.
    #[error("failed to run the compiler {}", exe.display())]
    Run {
        /// Its path.
        exe: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It took too long.
    #[error("the compiler took more than {} s", limit.as_secs())]
    Deadline {
        /// The limit.
        limit: Duration,
    },
    /// It died: out of memory, a signal.
    #[error("the compiler ended with {status}: {detail}")]
    Died {
        /// How.
        status: String,
        /// The end of its stderr.
        detail: String,
    },
}

impl Error {
    /// True when the fault may be the compiler's, and another one may take the component.
    pub(crate) fn is_of_this_tier(&self) -> bool {
        match self {
            Self::Rejected { .. } | Self::Died { .. } => true,
            Self::Run { .. } | Self::Deadline { .. } => false,
        }
    }

    /// True when the same component may compile at another time.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Rejected { .. } => false,
            Self::Run { .. } | Self::Deadline { .. } | Self::Died { .. } => true,
        }
    }
}

/// What somebody waits for. The largest components take two seconds on an idle processor.
const DEADLINE: Duration = Duration::from_secs(300);
/// What nobody waits for. The largest components take 15 s on an idle processor; on one that all others want, last in line, a
/// hundred times that.
const PATIENT_DEADLINE: Duration = Duration::from_secs(1_800);
/// Processors that one compiler may use at the same time. More would only make it larger.
const MOST_THREADS: &str = "4";

/// Starts compilers. Whoever calls sees to it that one runs at a time.
pub(crate) struct Compiler {
    exe: PathBuf,
    args: Vec<OsString>,
    kind: CodeKind,
}

impl Compiler {
    pub(crate) fn new(exe: PathBuf, args: Vec<OsString>, kind: CodeKind) -> Self {
        Self { exe, args, kind }
    }

    pub(crate) fn kind(&self) -> CodeKind {
        self.kind
    }

    /// Compiles `component` into `output`, which is written from its start. Dropping the future ends the child.
    pub(crate) async fn compile(&self, component: &[u8], tier: CodeTier, output: File) -> Result<(), Error> {
        let mut child = self.spawn(output).map_err(|source| self.run_error(source))?;
        let limit = match tier {
            CodeTier::Baseline | CodeTier::Quick => DEADLINE,
            CodeTier::Optimised => PATIENT_DEADLINE,
        };
        match timeout(limit, self.feed_and_wait(&mut child, component, tier)).await {
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

    async fn feed_and_wait(&self, child: &mut Child, component: &[u8], tier: CodeTier) -> Result<(), Error> {
        let (Some(mut stdin), Some(mut stderr)) = (child.stdin.take(), child.stderr.take()) else {
            return Err(self.run_error(io::Error::other("the compiler has no pipes")));
        };
        let feed = async {
            let length = u64::try_from(component.len()).unwrap_or(u64::MAX);
            stdin.write_all(&child::header(length, self.kind, tier)).await?;
            stdin.write_all(component).await?;
            stdin.flush().await
        };
        let listen = async {
            let mut said = Vec::new();
            // What is beyond is not read: a compiler that writes on stalls, and the deadline ends it.
            let _read = (&mut stderr).take(16 * 1024).read_to_end(&mut said).await;
            String::from_utf8_lossy(&said).trim().to_owned()
        };
        // A compiler that dies early breaks the pipe; its exit status is the better explanation.
        let (_fed, said) = tokio::join!(feed, listen);
        let status = child.wait().await.map_err(|source| self.run_error(source))?;
        drop(stdin);
        match status.code() {
            Some(0) => Ok(()),
            Some(code) if code == i32::from(child::REJECTED) => Err(Error::Rejected { detail: said }),
            Some(_) | None => Err(Error::Died { status: status.to_string(), detail: said }),
        }
    }

    fn run_error(&self, source: io::Error) -> Error {
        Error::Run { exe: self.exe.clone(), source }
    }
}
