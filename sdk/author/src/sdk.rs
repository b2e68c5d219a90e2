//! The location of the SDK for a project.

use std::path::{Path, PathBuf};

use crate::language::Language;

/// The version of the SDKs that belongs to this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The SDK's module path in Go.
const GO_MODULE: &str = "github.com/machinist-dev/machinist/sdk/go";

/// The location of the SDK for a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sdk {
    /// The package registry of its language, with the version of this program.
    Published,
    /// A checkout of Machinist.
    Checkout(PathBuf),
}

/// There is no SDK at this path.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The path is not a checkout, or one without this language.
    #[error("there is no SDK for {language} in {}: name the folder of a checkout of Machinist, which has {sought}", at.display())]
    NotThere {
        /// The path on the command line.
        at: PathBuf,
        /// The language of the project.
        language: Language,
        /// The file that is missing.
        sought: String,
    },
    /// The path has characters that a manifest cannot hold.
    #[error("the path {} has characters that a project cannot name: move the checkout", at.display())]
    UnusablePath {
        /// The path of the checkout.
        at: PathBuf,
    },
}

impl Sdk {
    /// Checks that the checkout has the SDK of this language.
    ///
    /// # Errors
    /// If it does not.
    pub fn checkout(at: &Path, language: Language) -> Result<Self, Error> {
        let sought = format!("sdk/{}/{}", language.word(), language.manifest());
        let missing = || Error::NotThere { at: at.to_owned(), language, sought: sought.clone() };
        let root = at.canonicalize().map_err(|_| missing())?;
        if !root.join(&sought).is_file() {
            return Err(missing());
        }
        let is_plain = |text: &str| !text.contains(['"', '\\', '\'']) && !text.contains(char::is_control);
        match root.to_str() {
            Some(text) if is_plain(text) => Ok(Self::Checkout(root)),
            Some(_) | None => Err(Error::UnusablePath { at: root }),
        }
    }

    /// Returns the dependency in a manifest of this language.
    pub fn dependency(&self, language: Language) -> String {
        let folder = |root: &Path| root.join("sdk").join(language.word()).display().to_string();
        match (language, self) {
            (Language::Rust, Self::Published) => format!("machinist-sdk = \"{VERSION}\""),
            (Language::Rust, Self::Checkout(root)) => {
                format!("machinist-sdk = {{ path = \"{}\" }}", folder(root))
            }
            (Language::Go, Self::Published) => format!("require {GO_MODULE} v{VERSION}"),
            // Go does not look up this version: the folder replaces it.
            (Language::Go, Self::Checkout(root)) => {
                format!("require {GO_MODULE} v0.0.0\n\nreplace {GO_MODULE} => \"{}\"", folder(root))
            }
            (Language::JavaScript, Self::Published) => VERSION.to_owned(),
            (Language::JavaScript, Self::Checkout(root)) => format!("file:{}", folder(root)),
            (Language::Python, Self::Published) => format!("machinist-sdk=={VERSION}"),
            (Language::Python, Self::Checkout(root)) => folder(root),
        }
    }

    /// Returns a note for the author before the first build.
    pub fn note(&self, language: Language) -> Option<String> {
        let registry = match language {
            Language::Rust => "crates.io",
            Language::Go => "the proxy of Go modules",
            Language::JavaScript => "npm",
            Language::Python => "PyPI",
        };
        match self {
            Self::Published => Some(format!(
                "the project asks for the SDK {VERSION} from {registry}. Where that version is not published yet, make \
                 the project with --sdk PATH, the folder of a checkout of Machinist"
            )),
            Self::Checkout(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_looked_at_before_it_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for language in Language::ALL {
            let sdk = Sdk::checkout(&root, language).unwrap();
            assert!(sdk.dependency(language).contains(&format!("/sdk/{}", language.word())));
            assert_eq!(sdk.note(language), None);
            let error =
                Sdk::checkout(Path::new(env!("CARGO_MANIFEST_DIR")), language).unwrap_err().to_string();
            assert!(error.contains(language.manifest()) && error.contains("checkout"), "{error}");
        }
        assert!(matches!(Sdk::checkout(Path::new("nowhere"), Language::Rust), Err(Error::NotThere { .. })));
    }

    #[test]
    fn a_published_sdk_is_of_this_version_and_may_not_be_there() {
        for language in Language::ALL {
            assert!(Sdk::Published.dependency(language).contains(VERSION));
            assert!(Sdk::Published.note(language).unwrap().contains("--sdk PATH"));
        }
    }
}
