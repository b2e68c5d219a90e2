//! Python: the SDK's own module, run by the Python of the project.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Error;
use super::tool::{Need, run, said};

const PYTHON: Need = Need {
    name: "Python",
    asks: "--version",
    least: (3, 11),
    install: "install Python 3.11 or later with its venv module (Debian: apt-get install python3 python3-venv)",
    renew: "install Python 3.11 or later with its venv module, and create .venv again with it",
};
const REQUIREMENTS: &str = "requirements.txt";

pub(super) fn build(folder: &Path, driver: &str, output: &Path) -> Result<(), Error> {
    let python = interpreter(folder);
    PYTHON.check(&python, folder)?;
    let requirements = fs::read_to_string(folder.join(REQUIREMENTS)).unwrap_or_default();
    let mut paths: Vec<PathBuf> = checkouts(&requirements).into_iter().filter(|path| path.is_dir()).collect();
    paths.extend(env::var_os("PYTHONPATH").iter().flat_map(env::split_paths));
    let path = env::join_paths(&paths).unwrap_or_default();
    let with_sdk = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.args(arguments).env("PYTHONPATH", &path).current_dir(folder);
        command
    };
    if said(&mut with_sdk(&["-c", "import machinist_sdk.build"]))?.is_none() {
        let fix = if requirements.is_empty() {
            "python3 -m venv .venv && .venv/bin/pip install machinist-sdk".to_owned()
        } else {
            format!("python3 -m venv .venv && .venv/bin/pip install -r {REQUIREMENTS}")
        };
        let fix = format!("in {}, {fix}", folder.display());
        return Err(Error::Missing { what: "the package machinist-sdk of Python".to_owned(), fix });
    }
    run(with_sdk(&["-m", "machinist_sdk.build", driver, "-p", "."]).arg("-o").arg(output))
}

/// Returns the project's own virtual environment, else the machine's Python.
fn interpreter(folder: &Path) -> OsString {
    let own = folder.join(".venv/bin/python");
    match std::path::absolute(&own) {
        Ok(own) if own.exists() => own.into_os_string(),
        Ok(_) | Err(_) => "python3".into(),
    }
}

/// Returns the source folders of requirements that are folders and not versions: they need not be installed.
fn checkouts(requirements: &str) -> Vec<PathBuf> {
    let lines = requirements.lines().map(str::trim);
    lines.filter(|line| line.starts_with('/')).map(|line| Path::new(line).join("src")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_that_is_a_folder_is_used_where_it_lies() {
        assert_eq!(
            checkouts("# ours\n/opt/machinist/sdk/python\nsix==1.17\n"),
            [Path::new("/opt/machinist/sdk/python/src")]
        );
        assert!(checkouts("machinist-sdk==0.1.0\n").is_empty());
    }

    #[test]
    fn the_environment_of_the_project_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(interpreter(folder.path()), "python3");
        let own = folder.path().join(".venv/bin/python");
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::write(&own, "").unwrap();
        assert_eq!(interpreter(folder.path()), own.into_os_string());
    }

    #[test]
    fn a_package_that_is_not_installed_is_named_with_the_command() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(REQUIREMENTS), "machinist-sdk==0.1.0\n").unwrap();
        let error = build(folder.path(), "a:A", &folder.path().join("a.wasm")).unwrap_err().to_string();
        // Without Python, the error names Python first.
        let words = ["pip install -r requirements.txt", "apt-get install python3"];
        assert!(words.iter().any(|word| error.contains(word)), "{error}");
    }
}
