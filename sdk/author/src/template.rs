//! The files of a new project.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::language::Language;
use crate::name::{Name, Provider};
use crate::sdk::Sdk;

/// A file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path within the project, with `/`.
    pub path: String,
    pub text: String,
}

/// The reason why a project cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder exists already.
    #[error("{} is there already: choose another name, or another folder with --path", at.display())]
    Taken {
        /// The path of the folder.
        at: PathBuf,
    },
    /// A file cannot be written.
    #[error("failed to write {}", at.display())]
    Write {
        /// The path of the file.
        at: PathBuf,
        /// The cause of the error.
        #[source]
        source: io::Error,
    },
}

/// A path and a text, before names are filled in.
type Template = (&'static str, &'static str);

const SHARED: [Template; 4] = [
    ("conformance.yaml", include_str!("../templates/shared/conformance.yaml.in")),
    ("grants.yaml", include_str!("../templates/shared/grants.yaml.in")),
    ("settings.json", include_str!("../templates/shared/settings.json.in")),
    ("README.md", include_str!("../templates/shared/README.md.in")),
];
const SCHEMA: &str = include_str!("../templates/shared/class-schema.json.in");

const RUST: [Template; 6] = [
    ("Cargo.toml", include_str!("../templates/rust/Cargo.toml.in")),
    (".gitignore", include_str!("../templates/rust/.gitignore.in")),
    ("src/lib.rs", include_str!("../templates/rust/src/lib.rs.in")),
    ("src/cloud.rs", include_str!("../templates/rust/src/cloud.rs.in")),
    ("src/tests.rs", include_str!("../templates/rust/src/tests.rs.in")),
    ("src/class-schema.json", SCHEMA),
];
const GO: [Template; 7] = [
    ("go.mod", include_str!("../templates/go/go.mod.in")),
    (".gitignore", include_str!("../templates/go/.gitignore.in")),
    ("main.go", include_str!("../templates/go/main.go.in")),
    ("vms/driver.go", include_str!("../templates/go/vms/driver.go.in")),
    ("vms/cloud.go", include_str!("../templates/go/vms/cloud.go.in")),
    ("vms/class-schema.json", SCHEMA),
    ("vms/driver_test.go", include_str!("../templates/go/vms/driver_test.go.in")),
];
const JAVASCRIPT: [Template; 7] = [
    ("package.json", include_str!("../templates/js/package.json.in")),
    (".gitignore", include_str!("../templates/js/.gitignore.in")),
    ("src/component.js", include_str!("../templates/js/src/component.js.in")),
    ("src/driver.js", include_str!("../templates/js/src/driver.js.in")),
    ("src/cloud.js", include_str!("../templates/js/src/cloud.js.in")),
    ("src/class-schema.json", SCHEMA),
    ("test/driver.test.js", include_str!("../templates/js/test/driver.test.js.in")),
];
const PYTHON: [Template; 8] = [
    ("pyproject.toml", include_str!("../templates/python/pyproject.toml.in")),
    ("requirements.txt", include_str!("../templates/python/requirements.txt.in")),
    (".gitignore", include_str!("../templates/python/.gitignore.in")),
    ("@module@/__init__.py", include_str!("../templates/python/@module@/__init__.py.in")),
    ("@module@/cloud.py", include_str!("../templates/python/@module@/cloud.py.in")),
    ("@module@/class-schema.json", SCHEMA),
    ("tests/__init__.py", ""),
    ("tests/test_driver.py", include_str!("../templates/python/tests/test_driver.py.in")),
];

/// The words of the README that differ between languages.
struct Words {
    steps: &'static str,
    cloud: &'static str,
    driver: &'static str,
    schema: &'static str,
    test: &'static str,
}

fn words(language: Language) -> Words {
    match language {
        Language::Rust => Words {
            steps: "cargo test                                       # unit tests, in seconds\n\
                    machinist driver build                           # the component: @name@.wasm\n\
                    machinist driver test @name@.wasm --profile conformance.yaml    # the conformance kit\n\
                    machinist plugin inspect @name@.wasm --grants grants.yaml --settings settings.json",
            cloud: "`src/cloud.rs`",
            driver: "`src/lib.rs`",
            schema: "`src/class-schema.json`",
            test: "`src/tests.rs`",
        },
        Language::Go => Words {
            steps: "go mod tidy && go test ./...                     # go.sum, then unit tests, in seconds\n\
                    machinist driver build                           # the component: @name@.wasm\n\
                    machinist driver test @name@.wasm --profile conformance.yaml    # the conformance kit\n\
                    machinist plugin inspect @name@.wasm --grants grants.yaml --settings settings.json",
            cloud: "`vms/cloud.go`",
            driver: "`vms/driver.go`",
            schema: "`vms/class-schema.json`",
            test: "`vms/driver_test.go`",
        },
        Language::JavaScript => Words {
            steps: "npm install && npm test                          # unit tests\n\
                    machinist driver build                           # the component: @name@.wasm\n\
                    machinist driver test @name@.wasm --profile conformance.yaml    # the conformance kit\n\
                    machinist plugin inspect @name@.wasm --grants grants.yaml --settings settings.json",
            cloud: "`src/cloud.js`",
            driver: "`src/driver.js`",
            schema: "`src/class-schema.json`",
            test: "`test/driver.test.js`",
        },
        Language::Python => Words {
            steps: "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && .venv/bin/python -m unittest\n\
                    machinist driver build                           # the component: @name@.wasm\n\
                    machinist driver test @name@.wasm --profile conformance.yaml    # the conformance kit\n\
                    machinist plugin inspect @name@.wasm --grants grants.yaml --settings settings.json",
            cloud: "`@module@/cloud.py`",
            driver: "`@module@/__init__.py`",
            schema: "`@module@/class-schema.json`",
            test: "`tests/test_driver.py`",
        },
    }
}

/// Returns all files of a new project, sorted by path. The same arguments have the same result.
pub fn files(language: Language, name: &Name, provider: &Provider, sdk: &Sdk) -> Vec<File> {
    let own: &[Template] = match language {
        Language::Rust => &RUST,
        Language::Go => &GO,
        Language::JavaScript => &JAVASCRIPT,
        Language::Python => &PYTHON,
    };
    let fill = |text: &str| filled(text, language, name, sdk).replace("@provider@", provider.as_str());
    let file = |(path, text): &Template| File { path: fill(path), text: fill(text) };
    let mut files: Vec<File> = SHARED.iter().chain(own).map(file).collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files
}

/// Returns the next commands, as the README shows them.
pub fn steps(language: Language, name: &Name) -> String {
    words(language).steps.replace("@name@", name.as_str())
}

fn filled(text: &str, language: Language, name: &Name, sdk: &Sdk) -> String {
    let Words { steps, cloud, driver, schema, test } = words(language);
    text.replace("@steps@", steps)
        .replace("@cloudfile@", cloud)
        .replace("@driverfile@", driver)
        .replace("@schemafile@", schema)
        .replace("@testfile@", test)
        .replace("@language@", &language.to_string())
        .replace("@sdk@", &sdk.dependency(language))
        .replace("@package@", &name.package())
        .replace("@module@", &name.module())
        .replace("@Type@", &name.type_name())
        .replace("@name@", name.as_str())
}

/// Writes a project into a new folder.
///
/// # Errors
/// If the folder exists, or a file cannot be written. Files that were written before stay.
pub fn write(folder: &Path, files: &[File]) -> Result<(), Error> {
    let failed = |at: &Path| {
        let at = at.to_owned();
        move |source| Error::Write { at, source }
    };
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(failed(parent))?;
    }
    fs::create_dir(folder).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Taken { at: folder.to_owned() },
        _ => Error::Write { at: folder.to_owned(), source },
    })?;
    for file in files {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed(parent))?;
        }
        fs::write(&path, &file.text).map_err(failed(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(language: Language) -> Vec<File> {
        files(language, &"my-cloud".parse().unwrap(), &"MyCloud".parse().unwrap(), &Sdk::Published)
    }

    #[test]
    fn the_provider_is_what_machineclasses_and_grants_name_and_the_name_is_in_ids() {
        for language in Language::ALL {
            let files = project(language);
            let text = |end: &str| &files.iter().find(|file| file.path.ends_with(end)).unwrap().text;
            assert!(text("grants.yaml").contains("providers: [MyCloud]"), "{language}");
            assert!(text("README.md").contains("provider: MyCloud"), "{language}");
            let code = files
                .iter()
                .filter(|file| file.text.contains("\"MyCloud\"") || file.text.contains("'MyCloud'"));
            assert!(code.count() >= 1, "{language}");
            assert!(text("conformance.yaml").contains("my-cloud:///"), "{language}");
        }
    }

    #[test]
    fn every_project_has_what_an_operator_and_an_author_need() {
        for language in Language::ALL {
            let files = project(language);
            let has = |name: &str| files.iter().any(|file| file.path.ends_with(name));
            for name in [
                "README.md",
                "conformance.yaml",
                "grants.yaml",
                "settings.json",
                ".gitignore",
                "class-schema.json",
                language.manifest(),
            ] {
                assert!(has(name), "{language}: {name}");
            }
            assert!(
                files.iter().any(|file| file.path.contains("test") && file.text.contains("s3cret")),
                "{language}"
            );
        }
    }

    #[test]
    fn each_path_that_the_readme_names_is_there() {
        for language in Language::ALL {
            let files = project(language);
            let readme = files.iter().find(|file| file.path == "README.md").unwrap();
            let named = readme.text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
            let mut paths = 0;
            for path in named {
                assert!(files.iter().any(|file| file.path == path), "{language}: {path}");
                paths += 1;
            }
            assert!(paths >= 7, "{language}: {paths}");
        }
    }

    #[test]
    fn all_names_are_filled_in() {
        for language in Language::ALL {
            for file in project(language) {
                for word in [
                    "@name@", "@provider@", "@package@", "@module@", "@Type@", "@sdk@", "@language@",
                    "@steps@", "file@",
                ] {
                    assert!(
                        !file.text.contains(word) && !file.path.contains(word),
                        "{language} {}: {word}",
                        file.path
                    );
                }
            }
        }
        let python = project(Language::Python);
        assert!(python.iter().any(|file| file.path == "my_cloud_driver/cloud.py"));
        let manifest = python.iter().find(|file| file.path == "pyproject.toml").unwrap();
        assert!(manifest.text.contains("driver = \"my_cloud_driver:MyCloudDriver\""));
    }

    #[test]
    fn a_readme_names_the_files_that_are_there() {
        for language in Language::ALL {
            let files = project(language);
            let readme = &files.iter().find(|file| file.path == "README.md").unwrap().text;
            let named = readme.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
            for name in named {
                assert!(files.iter().any(|file| file.path.ends_with(name)), "{language}: {name}");
            }
            let steps = steps(language, &"my-cloud".parse().unwrap());
            assert!(readme.contains(&steps));
            assert!(
                steps.contains("machinist driver test my-cloud.wasm --profile conformance.yaml"),
                "{steps}"
            );
        }
    }

    #[test]
    fn a_folder_that_is_there_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let error = write(folder.path(), &project(Language::Rust)).unwrap_err();
        assert!(matches!(error, Error::Taken { .. }));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let below = folder.path().join("a/b");
        write(&below, &project(Language::Rust)).unwrap();
        assert!(below.join("src/cloud.rs").is_file());
    }
}
