//! Why a host does not start.

/// Why the host did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("failed to set up the engine: {detail}")]
    Engine {
        /// The words of the engine.
        detail: String,
    },
    #[error("failed to start threads")]
    Threads(#[source] std::io::Error),
    #[error("failed to open the key of the code cache")]
    Key(#[source] std::io::Error),
    #[error("failed to open the folder of the recordings {}", folder.display())]
    Recordings {
        folder: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("failed to open the code cache {}", folder.display())]
    Cache {
        folder: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
}
