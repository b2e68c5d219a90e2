//! A driver of this repository, whatever its language.

use std::fmt;

use anyhow::Result;

use crate::scripts::Script;
use crate::{bytes, bytes_with, go, scripts};

/// A driver of this repository, and how it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// A package of the workspace. The variable of its build sets the version that it tells.
    Rust { package: &'static str, version: &'static str },
    /// A program of Go in a folder of the repository.
    Go { folder: &'static str },
    /// A package of JavaScript or TypeScript in a folder of the repository.
    JavaScript { folder: &'static str },
}

impl Driver {
    /// Its component, with the version of its source.
    ///
    /// Fails when the tools of its language do, or are not there, with what they printed.
    pub fn build(self) -> Result<Vec<u8>> {
        match self {
            Self::Rust { package, .. } => bytes(package),
            Self::Go { folder } => go::program(folder, None),
            Self::JavaScript { folder } => scripts::driver(Script::JavaScript, folder, None),
        }
    }

    /// Its component, which tells another version and so has another digest.
    ///
    /// Fails as [`Self::build`] does.
    pub fn build_version(self, version: &str) -> Result<Vec<u8>> {
        match self {
            Self::Rust { package, version: variable } => bytes_with(package, variable, version),
            Self::Go { folder } => go::program(folder, Some(version)),
            Self::JavaScript { folder } => scripts::driver(Script::JavaScript, folder, Some(version)),
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Rust { package, .. } => package,
            Self::Go { folder } | Self::JavaScript { folder } => folder,
        })
    }
}
