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
    /// A tag of the repository.
    Tag(String),
}

/// The repository of Machinist.
const REPOSITORY: &str = "https://github.com/machinist-dev/machinist";
/// Before the tag, on the command line.
const TAG_PREFIX: &str = "git:";

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
    /// The language's tools take no folder of a repository.
    #[error(
        "npm takes no folder of a repository: clone Machinist at the tag {tag}, and name its folder with --sdk PATH"
    )]
    NoTagInNpm {
        /// The tag on the command line.
        tag: String,
    },
    /// The tag has characters that a tag of Machinist does not have.
    #[error("{tag:?} is no tag: write git: and a tag of Machinist's repository, such as git:v0.1.0")]
    NotATag {
        /// The text on the command line.
        tag: String,
    },
    /// The path has characters that a manifest cannot hold.
    #[error("the path {} has characters that a project cannot name: move the checkout", at.display())]
    UnusablePath {
        /// The path of the checkout.
        at: PathBuf,
    },
}

impl Sdk {
    /// Reads the value of `--sdk`: `git:TAG`, or the path of a checkout.
    ///
    /// # Errors
    /// If there is no SDK of this language.
    pub fn parse(text: &str, language: Language) -> Result<Self, Error> {
        let Some(tag) = text.strip_prefix(TAG_PREFIX) else {
            return Self::checkout(Path::new(text), language);
        };
        let is_tag = tag.strip_prefix('v').is_some_and(|version| {
            version.starts_with(|first: char| first.is_ascii_digit())
                && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        });
        match language {
            _ if !is_tag => Err(Error::NotATag { tag: tag.to_owned() }),
            Language::JavaScript => Err(Error::NoTagInNpm { tag: tag.to_owned() }),
            Language::Rust | Language::Go | Language::Python => Ok(Self::Tag(tag.to_owned())),
        }
    }

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
            (Language::Rust, Self::Tag(tag)) => {
                format!("machinist-sdk = {{ git = \"{REPOSITORY}\", tag = \"{tag}\" }}")
            }
            // Go finds the tag of a module in a folder by its name: sdk/go/TAG.
            (Language::Go, Self::Tag(tag)) => format!("require {GO_MODULE} {tag}"),
            (Language::Python | Language::JavaScript, Self::Tag(tag)) => {
                format!("machinist-sdk @ git+{REPOSITORY}@{tag}#subdirectory=sdk/python")
            }
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
                 the project with --sdk PATH, the folder of a checkout of Machinist, or with --sdk git:TAG"
            )),
            Self::Checkout(_) | Self::Tag(_) => None,
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
    fn a_tag_is_a_dependency_on_the_repository_where_the_tools_take_one() {
        let dependency = |language| Sdk::parse("git:v0.1.0", language).map(|sdk| sdk.dependency(language));
        for (language, expected) in [
            (Language::Rust, "tag = \"v0.1.0\""),
            (Language::Go, "/sdk/go v0.1.0"),
            (Language::Python, "@v0.1.0#subdirectory=sdk/python"),
        ] {
            assert!(dependency(language).unwrap().contains(expected), "{language}");
        }
        let error = dependency(Language::JavaScript).unwrap_err().to_string();
        assert!(error.contains("clone Machinist at the tag v0.1.0"), "{error}");
        for text in ["git:", "git:main", "git:v", "git:v1\"", "git:v1;x", "git:v1 x"] {
            let error = Sdk::parse(text, Language::Rust).unwrap_err().to_string();
            assert!(error.contains("is no tag"), "{text}: {error}");
        }
    }

    #[test]
    fn a_published_sdk_is_of_this_version_and_may_not_be_there() {
        for language in Language::ALL {
            assert!(Sdk::Published.dependency(language).contains(VERSION));
            assert!(Sdk::Published.note(language).unwrap().contains("--sdk PATH"));
        }
    }
}
