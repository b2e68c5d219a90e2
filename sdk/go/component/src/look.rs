//! Asks a program which driver or policy it serves. The program runs natively, which takes no time compared with the
//! compilation for WebAssembly.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::build::Error;
use crate::contract::World;

/// As in `internal/look` of the SDK.
const VARIABLE: &str = "MACHINIST_LOOK";

/// The served driver or policy.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) world: World,
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Deserialize)]
struct Report {
    kind: String,
    #[serde(default)]
    problem: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    reboots: bool,
}

/// Runs the program and reads its report.
pub(crate) fn at(program: &Path, folder: &Path) -> Result<Seen, Error> {
    let output = Command::new(program).env(VARIABLE, "1").output().map_err(|source| Error::File {
        doing: "run",
        path: program.to_owned(),
        source,
    })?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(Error::Unfit(format!("the program ends before it serves anything:\n{}", said.trim())));
    }
    seen(&String::from_utf8_lossy(&output.stdout), folder)
}

fn seen(said: &str, folder: &Path) -> Result<Seen, Error> {
    // An init function may print other lines before.
    let Some(report) = said.lines().last().and_then(|line| serde_json::from_str::<Report>(line).ok()) else {
        return Err(Error::NothingServed(folder.to_owned()));
    };
    if !report.problem.is_empty() {
        return Err(Error::Unfit(report.problem));
    }
    let world = match (report.kind.as_str(), report.reboots) {
        ("driver", true) => World::FullProvider,
        ("driver", false) => World::Provider,
        ("health-policy", _) => World::HealthPolicy,
        (other, _) => {
            return Err(Error::Unfit(format!(
                "the SDK in go.mod serves {other:?}, which this tool does not know: use versions of both that fit together"
            )));
        }
    };
    Ok(Seen { world, name: report.name, version: report.version })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &str) -> String {
        match seen(said, Path::new("here")) {
            Ok(seen) => format!("{} {} {}", seen.world.name(), seen.name, seen.version),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_last_line_says_what_is_served() {
        let driver = r#"{"kind": "driver", "name": "a", "version": "1.0.0", "reboots": false}"#;
        assert_eq!(check(driver), "provider a 1.0.0");
        assert_eq!(check(&format!("hello\n{}\n", driver.replace("false", "true"))), "full-provider a 1.0.0");
        assert_eq!(check(r#"{"kind": "health-policy", "name": "a", "version": "1"}"#), "health-policy a 1");
    }

    #[test]
    fn what_cannot_be_served_says_why() {
        assert!(check("").contains("here serves nothing: call component.Serve in an init function"));
        assert!(check("hello").contains("serves nothing"));
        assert_eq!(check(r#"{"kind": "driver", "problem": "no name"}"#), "no name");
        assert!(check(r#"{"kind": "cloud"}"#).contains("serves \"cloud\", which this tool does not know"));
    }
}
