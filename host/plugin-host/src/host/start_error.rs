//! Why a host does not start.

/// Why the host did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The engine refuses its settings, or the linker a definition.
    #[error("failed to set up the engine: {detail}")]
    Engine {
        /// The words of the engine.
        detail: String,
    },
    /// Threads could not be started.
    #[error("failed to start threads")]
    Threads(#[source] std::io::Error),
    /// The key file cannot be read or created.
    #[error("failed to open the key of the code cache")]
    Key(#[source] std::io::Error),
    /// The folder of the recordings cannot be created, read or written.
    #[error("failed to open the folder of the recordings {}", folder.display())]
    Recordings {
        folder: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The folder cannot be created or closed to other users.
    #[error("failed to open the code cache {}", folder.display())]
    Cache {
        folder: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },
}
