//! Asks a program which driver or policy it serves. The program runs natively, which takes no time compared with the
//! compilation for WebAssembly.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::build::Error;
use crate::contract::{Optional, World};

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
    /// Names of optional interfaces.
    #[serde(default)]
    offers: Vec<String>,
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
    let unknown = |what: &str| {
        Error::Unfit(format!(
            "the SDK in go.mod serves {what:?}, which this tool does not know: use versions of both that fit together"
        ))
    };
    let optional =
        |name: &String| Optional::ALL.into_iter().find(|one| one.name() == name).ok_or_else(|| unknown(name));
    let world = match report.kind.as_str() {
        "driver" => World::Driver(report.offers.iter().map(optional).collect::<Result<_, _>>()?),
        "health-policy" => World::HealthPolicy,
        other => return Err(unknown(other)),
    };
    Ok(Seen { world, name: report.name, version: report.version })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: &str) -> String {
        match seen(said, Path::new("here")) {
            Ok(seen) => format!("{:?} {} {}", seen.world, seen.name, seen.version),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_last_line_says_what_is_served() {
        let driver = r#"{"kind": "driver", "name": "a", "version": "1.0.0", "offers": []}"#;
        assert_eq!(check(driver), "Driver([]) a 1.0.0");
        let more = driver.replace("[]", r#"["reboot", "node-id"]"#);
        assert_eq!(check(&format!("hello\n{more}\n")), "Driver([Reboot, NodeId]) a 1.0.0");
        assert_eq!(check(r#"{"kind": "health-policy", "name": "a", "version": "1"}"#), "HealthPolicy a 1");
    }

    #[test]
    fn what_cannot_be_served_says_why() {
        assert!(check("").contains("here serves nothing: call component.Serve in an init function"));
        assert!(check("hello").contains("serves nothing"));
        assert_eq!(check(r#"{"kind": "driver", "problem": "no name"}"#), "no name");
        let flight = r#"{"kind": "driver", "offers": ["flight"]}"#;
        assert!(check(flight).contains("serves \"flight\", which this tool does not know"));
        assert!(check(r#"{"kind": "cloud"}"#).contains("serves \"cloud\", which this tool does not know"));
    }
}
