//! Finds the language of a folder, and reads its manifest.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::language::Language;

/// A project, with the facts that its build needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Project {
    /// A crate of Rust.
    Rust {
        /// The crate's name, if the manifest is that of a crate.
        package: String,
    },
    /// A Go module, with package main in its folder.
    Go {
        /// The path of the module.
        module: String,
    },
    /// A package of npm.
    JavaScript {
        /// The package's name, if it has one.
        package: Option<String>,
    },
    Python {
        /// The driver as `MODULE:CLASS`.
        driver: String,
        /// The package's name, if it has one.
        package: Option<String>,
    },
}

/// The reason why a folder is not a project.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The files match no language.
    #[error("{} is no project of a driver: it has none of {}; `machinist driver new` makes one", at.display(), manifests())]
    None {
        /// The path of the folder.
        at: PathBuf,
    },
    /// The files match two languages.
    #[error("{} has both {one} and {other}: keep the manifest of one language", at.display())]
    Several {
        /// The path of the folder.
        at: PathBuf,
        /// The manifest of the first language.
        one: &'static str,
        /// The manifest of the second language.
        other: &'static str,
    },
    /// The manifest cannot be read.
    #[error("failed to read {}", at.display())]
    Read {
        /// The path of the manifest.
        at: PathBuf,
        /// The cause of the error.
        #[source]
        source: io::Error,
    },
    /// The manifest is not valid.
    #[error("{} is not {form}: {why}", at.display())]
    Broken {
        /// The path of the manifest.
        at: PathBuf,
        /// The expected file format.
        form: &'static str,
        /// The problem in one line.
        why: String,
    },
    /// The manifest lacks a setting.
    #[error("{} does not say {what}: write {write}", at.display())]
    Lacks {
        /// The path of the manifest.
        at: PathBuf,
        /// The name of the missing setting.
        what: &'static str,
        /// The text to write there.
        write: &'static str,
    },
}

/// Returns the language of a folder, by the names of its files.
///
/// # Errors
/// If there is none, or more than one.
pub fn language(folder: &Path, names: &[String]) -> Result<Language, Error> {
    let has = |language: &Language| names.iter().any(|name| name == language.manifest());
    let mut found = Language::ALL.into_iter().filter(has);
    match (found.next(), found.next()) {
        (Some(language), None) => Ok(language),
        (Some(one), Some(other)) => {
            Err(Error::Several { at: folder.to_owned(), one: one.manifest(), other: other.manifest() })
        }
        (None, _) => Err(Error::None { at: folder.to_owned() }),
    }
}

/// Reads the project in a folder.
///
/// # Errors
/// If the folder is not a project, or its manifest does not name the driver.
pub fn look(folder: &Path) -> Result<Project, Error> {
    let failed = |at: &Path| {
        let at = at.to_owned();
        move |source| Error::Read { at, source }
    };
    let entries = fs::read_dir(folder).map_err(failed(folder))?;
    let names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let language = language(folder, &names)?;
    let at = folder.join(language.manifest());
    let text = fs::read_to_string(&at).map_err(failed(&at))?;
    read(language, &at, &text)
}

/// Parses a manifest.
///
/// # Errors
/// If it is invalid, or does not name the driver.
pub fn read(language: Language, at: &Path, text: &str) -> Result<Project, Error> {
    let broken = |form, why: &str| Error::Broken {
        at: at.to_owned(),
        form,
        why: why.lines().next().unwrap_or_default().to_owned(),
    };
    match language {
        Language::Rust => {
            let manifest: CargoToml =
                toml::from_str(text).map_err(|error| broken("TOML", error.message()))?;
            let package = manifest.package.ok_or_else(|| Error::Lacks {
                at: at.to_owned(),
                what: "which package it is",
                write: "the folder of the driver's own crate, which has a table [package], behind `machinist driver build`",
            })?;
            Ok(Project::Rust { package: package.name })
        }
        Language::Go => {
            let module = text.lines().find_map(|line| line.trim().strip_prefix("module "));
            let module = module.map(|path| path.trim().trim_matches('"')).filter(|path| !path.is_empty());
            let module = module.ok_or_else(|| Error::Lacks {
                at: at.to_owned(),
                what: "which module it is",
                write: "module NAME in its first line, as `go mod init NAME` does",
            })?;
            Ok(Project::Go { module: module.to_owned() })
        }
        Language::JavaScript => {
            let manifest: PackageJson = serde_json::from_str(text)
                .map_err(|error| broken("JSON of a package", &error.to_string()))?;
            Ok(Project::JavaScript { package: manifest.name })
        }
        Language::Python => {
            let manifest: PyProject =
                toml::from_str(text).map_err(|error| broken("TOML", error.message()))?;
            let driver = manifest.tool.unwrap_or_default().machinist.unwrap_or_default().driver;
            let driver = driver.ok_or_else(|| Error::Lacks {
                at: at.to_owned(),
                what: "which class is the driver",
                write: "[tool.machinist] and below it driver = \"MODULE:CLASS\"",
            })?;
            Ok(Project::Python { driver, package: manifest.project.and_then(|project| project.name) })
        }
    }
}

impl Project {
    /// Returns the default name of the component: the package's, without `-driver`.
    pub fn component(&self) -> String {
        let package = match self {
            Self::Rust { package } => Some(package),
            Self::Go { module } => Some(module),
            Self::JavaScript { package } | Self::Python { package, .. } => package.as_ref(),
        };
        // The part before a slash is a scope of npm or a host of Go, and not part of the file name.
        let name = package.and_then(|package| package.rsplit('/').next()).filter(|name| !name.is_empty());
        let name =
            name.map(|name| name.strip_suffix("-driver").filter(|rest| !rest.is_empty()).unwrap_or(name));
        format!("{}.wasm", name.unwrap_or("driver"))
    }
}

#[derive(Deserialize)]
struct CargoToml {
    package: Option<CargoPackage>,
}

#[derive(Deserialize)]
struct CargoPackage {
    name: String,
}

#[derive(Deserialize)]
struct PackageJson {
    name: Option<String>,
}

#[derive(Deserialize)]
struct PyProject {
    project: Option<PyName>,
    tool: Option<PyTool>,
}

#[derive(Deserialize)]
struct PyName {
    name: Option<String>,
}

#[derive(Default, Deserialize)]
struct PyTool {
    machinist: Option<PyMachinist>,
}

#[derive(Default, Deserialize)]
struct PyMachinist {
    driver: Option<String>,
}

fn manifests() -> String {
    Language::ALL.map(Language::manifest).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sdk::Sdk;
    use crate::template;

    fn known(names: &[&str]) -> Result<Language, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        language(Path::new("here"), &names).map_err(|error| error.to_string())
    }

    #[test]
    fn a_language_is_known_by_its_manifest() {
        assert_eq!(known(&["src", "Cargo.toml"]), Ok(Language::Rust));
        assert_eq!(known(&["package.json", "pyproject.lock"]), Ok(Language::JavaScript));
        assert_eq!(known(&["go.mod", "go.sum"]), Ok(Language::Go));
        assert_eq!(known(&["pyproject.toml"]), Ok(Language::Python));
        assert!(
            known(&["Cargo.toml", "package.json"]).unwrap_err().contains("both Cargo.toml and package.json")
        );
        let error = known(&["main.c"]).unwrap_err();
        assert!(
            error.contains("Cargo.toml, go.mod, package.json, pyproject.toml")
                && error.contains("driver new"),
            "{error}"
        );
    }

    #[test]
    fn what_a_template_makes_is_known() {
        for language in Language::ALL {
            let files = template::files(
                language,
                &"my-cloud".parse().unwrap(),
                &"MyCloud".parse().unwrap(),
                &Sdk::Published,
            );
            let manifest = files.iter().find(|file| file.path == language.manifest()).unwrap();
            let project = read(language, Path::new(&manifest.path), &manifest.text).unwrap();
            assert_eq!(project.component(), "my-cloud.wasm");
        }
    }

    #[test]
    fn a_manifest_that_does_not_say_enough_says_what_to_write() {
        let error = |language, text| read(language, Path::new("M"), text).unwrap_err().to_string();
        assert!(error(Language::Python, "[project]\nname = \"a\"").contains("driver = \"MODULE:CLASS\""));
        assert!(error(Language::Rust, "[workspace]").contains("[package]"));
        assert!(error(Language::Rust, "[package").contains("M is not TOML"));
        assert!(error(Language::Go, "go 1.24").contains("go mod init"));
        assert!(error(Language::JavaScript, "{").contains("M is not JSON"));
    }

    #[test]
    fn a_component_is_called_as_its_package() {
        assert_eq!(Project::Rust { package: "-driver".to_owned() }.component(), "-driver.wasm");
        let scoped = Project::JavaScript { package: Some("@us/cloud".to_owned()) };
        assert_eq!(scoped.component(), "cloud.wasm");
        assert_eq!(Project::JavaScript { package: None }.component(), "driver.wasm");
    }
}
