//! The prerequisites of a machine, and their installation.

use std::path::Path;

use anyhow::{Result, bail};

use crate::shell::Line;

/// The target of components.
pub(crate) const COMPONENT_TARGET: &str = "wasm32-wasip2";

/// A program that must be there.
struct Need {
    name: &'static str,
    ask: &'static [&'static str],
    /// Major and minor version.
    least: (u32, u32),
    what_for: &'static str,
    next_step: &'static str,
}

const NEEDS: [Need; 4] = [
    Need {
        name: "Go",
        ask: &["go", "version"],
        least: (1, 21),
        what_for: "the control plane of demo and tests is built from Go modules, and the SDK for Go is tested (a Go of \
                   1.21 or later fetches the release that it needs by itself)",
        next_step: "install it from https://go.dev/dl/ or with the system's package manager, and put `go` on the PATH",
    },
    Need {
        name: "Python",
        ask: &["python3", "--version"],
        least: (3, 11),
        what_for: "third-party cloud emulators of the tests and the SDK for Python run on it",
        next_step: "install it with the system's package manager (Debian: apt-get install python3), and put `python3` \
                    on the PATH",
    },
    Need {
        name: "Python's modules venv and ensurepip, of Python",
        ask: &["python3", "-c", "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2])"],
        least: (3, 10),
        what_for: "third-party cloud emulators of the tests are installed into a virtual environment of their own",
        next_step: "install them with the system's package manager (Debian: apt-get install python3-venv)",
    },
    Need {
        name: "git",
        ask: &["git", "--version"],
        least: (2, 0),
        what_for: "tests of the tree ask it which files belong to the tree",
        next_step: "install it with the system's package manager (Debian: apt-get install git)",
    },
];

/// The tools that only tests of drivers in JavaScript need.
const NEEDS_OF_JAVASCRIPT: [Need; 2] = [
    Need {
        name: "Node.js",
        ask: &["node", "--version"],
        least: (20, 0),
        what_for: "the SDK for JavaScript is tested on it, and drivers for the conformance kit are built with it",
        next_step: "install it from https://nodejs.org/ or with the system's package manager, and put `node` on the PATH",
    },
    Need {
        name: "npm",
        ask: &["npm", "--version"],
        least: (9, 0),
        what_for: "it brings esbuild and TypeScript for the tests of the SDK for JavaScript",
        next_step: "install it with Node.js, or with the system's package manager (Debian: apt-get install npm)",
    },
];

/// Quiet when all is there. Otherwise says everything that is missing at once.
pub(crate) fn check() -> Result<()> {
    let mut missing: Vec<String> = NEEDS.iter().filter_map(missing_program).collect();
    missing.extend(missing_target());
    say(&missing)
}

/// The same for tests of drivers in JavaScript. Apart, because the demo needs none of it.
pub(crate) fn check_for_javascript() -> Result<()> {
    let missing: Vec<String> = NEEDS_OF_JAVASCRIPT.iter().filter_map(missing_program).collect();
    say(&missing)
}

fn say(missing: &[String]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    bail!("this machine lacks something:\n\n{}\n\nThen run the command again.", missing.join("\n\n"));
}

fn missing_program(need: &Need) -> Option<String> {
    let (program, arguments) = need.ask.split_first()?;
    let answer = Line::new(*program).with(arguments).answer();
    complaint(need, answer.as_deref())
}

fn complaint(need: &Need, answer: Option<&str>) -> Option<String> {
    let (major, minor) = need.least;
    let found = match answer {
        None => "it was not found".to_owned(),
        Some(answer) => match version_in(answer) {
            Some(version) if version >= need.least => return None,
            Some((major, minor)) => format!("{major}.{minor} was found"),
            None => format!("its answer is not understood: {answer}"),
        },
    };
    let Need { name, what_for, next_step, .. } = need;
    Some(format!("- {name} {major}.{minor} or later: {found}\n  why:  {what_for}\n  next: {next_step}"))
}

/// The first `MAJOR.MINOR` in a text.
fn version_in(text: &str) -> Option<(u32, u32)> {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
        let (major, rest) = word.split_once('.')?;
        let minor = rest.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    })
}

/// Adds the target if it is not there; says what to do if that fails.
fn missing_target() -> Option<String> {
    if has_target() {
        return None;
    }
    eprintln!("adding the target {COMPONENT_TARGET} to the Rust tool chain");
    let added = Line::new("rustup").with(&["target", "add", COMPONENT_TARGET]).run();
    match added {
        Ok(()) if has_target() => None,
        Ok(()) => {
            Some(format!("- the Rust target {COMPONENT_TARGET}: rustup added it, but rustc does not find it"))
        }
        Err(error) => Some(format!(
            "- the Rust target {COMPONENT_TARGET}: {error:#}\n  why:  drivers are components for it\n  next: \
             install rustup from https://rustup.rs/ and run `rustup target add {COMPONENT_TARGET}` in the clone"
        )),
    }
}

fn has_target() -> bool {
    Line::new("rustc")
        .with(&["--print", "target-libdir", "--target", COMPONENT_TARGET])
        .answer()
        .is_some_and(|folder| Path::new(&folder).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO: &Need = &NEEDS[0];

    #[test]
    fn a_version_is_found_where_programs_put_it() {
        assert_eq!(version_in("go version go1.26.8 linux/amd64"), Some((1, 26)));
        assert_eq!(version_in("Python 3.11.7"), Some((3, 11)));
        assert_eq!(version_in("git version 2.39.5 (something)"), Some((2, 39)));
        assert_eq!(version_in("v20.20.0"), Some((20, 20)));
        assert_eq!(version_in("no number. at all"), None);
    }

    #[test]
    fn present_tools_are_not_mentioned() {
        assert_eq!(complaint(GO, Some("go version go1.26.8 linux/amd64")), None);
    }

    #[test]
    fn what_is_missing_is_named_with_the_next_step() {
        let text = complaint(GO, None).unwrap();
        assert!(text.contains("Go 1.21 or later: it was not found"), "{text}");
        assert!(text.contains("next: install it from https://go.dev/dl/"), "{text}");
    }

    #[test]
    fn a_python_that_makes_no_virtual_environments_is_named_with_the_package_to_install() {
        let venv = NEEDS.iter().find(|need| need.name.contains("venv")).unwrap();
        let text = complaint(venv, None).unwrap();
        assert!(text.contains("venv") && text.contains("apt-get install python3-venv"), "{text}");
        assert_eq!(complaint(venv, Some("3.11")), None);
    }

    #[test]
    fn what_is_too_old_is_named_with_its_version() {
        let text = complaint(GO, Some("go version go1.19.8 linux/amd64")).unwrap();
        assert!(text.contains("1.19 was found"), "{text}");
    }
}
