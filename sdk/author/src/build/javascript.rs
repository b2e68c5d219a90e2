//! JavaScript and TypeScript: the SDK's own tool, from the project's packages.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use super::Error;
use super::tool::{Need, run};

const NODE: Need = Need {
    name: "Node.js",
    asks: "--version",
    least: (20, 0),
    install: "install Node.js 20 or later with npm from https://nodejs.org",
    renew: "install Node.js 20 or later with npm from https://nodejs.org",
};
const NPM: Need = Need {
    name: "npm",
    asks: "--version",
    least: (9, 0),
    install: "install npm, which comes with Node.js (Debian: apt-get install npm)",
    renew: "npm install --global npm",
};
const TOOL: &str = "node_modules/machinist-sdk/tools/machinist-js.js";

pub(super) fn build(folder: &Path, output: &Path) -> Result<(), Error> {
    NODE.check(OsStr::new("node"), folder)?;
    NPM.check(OsStr::new("npm"), folder)?;
    let tool = folder.join(TOOL);
    if !tool.is_file() {
        return Err(Error::Missing {
            what: format!("the package machinist-sdk in {}", folder.join("node_modules").display()),
            fix: format!("npm install --prefix {}", folder.display()),
        });
    }
    run(Command::new("node").arg(tool).arg("build").arg(folder).arg("-o").arg(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_are_not_installed_are_named_with_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let error = build(folder.path(), &folder.path().join("a.wasm")).unwrap_err().to_string();
        // Without Node.js, the error names Node.js first.
        let words = ["npm install --prefix", "https://nodejs.org", "apt-get install npm"];
        assert!(words.iter().any(|word| error.contains(word)), "{error}");
    }
}
