//! One life of Machines on each cloud of real parts. The other clouds have theirs among the tests of each change.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;

use crate::shell::Line;

/// Set by CI systems: no cloud is skipped there.
const CI: &str = "CI";

/// A cloud whose parts take minutes to install, or need packages of the system.
struct RealCloud {
    name: &'static str,
    /// Its program, which installs its parts unless they are in the cache.
    program: &'static str,
    /// The end-to-end test with its journey.
    journey: &'static str,
}

const CLOUDS: [RealCloud; 2] = [
    RealCloud {
        name: "OpenStack",
        program: "openstack",
        journey: "clouds::openstack::machines_become_servers_with_ports_and_leave_nothing_behind",
    },
    RealCloud {
        name: "LXD",
        program: "lxd",
        journey: "clouds::lxd::machines_become_containers_and_leave_nothing_behind",
    },
];

/// Installs the parts of each cloud with the programs in this folder, then runs the journeys by `tests`, a command line
/// of `cargo test`. Without the parts of a cloud, its journey is skipped, with a notice; a CI system fails.
pub(crate) fn run(binaries: &Path, tests: Line) -> Result<()> {
    let is_ci = is_set(env::var_os(CI).as_deref());
    let (mut journeys, mut skipped) = (Vec::new(), Vec::new());
    for cloud in &CLOUDS {
        match Line::new(binaries.join(cloud.program)).with(&["prepare"]).run() {
            Ok(()) => journeys.push(cloud.journey),
            Err(error) if is_ci => {
                return Err(error.context(format!("failed to install the parts of {}", cloud.name)));
            }
            Err(_) => skipped.push(cloud.name),
        }
    }
    let done = match journeys.as_slice() {
        [] => Ok(()),
        chosen => tests.with(&["--test", "all", "--", "--ignored", "--exact"]).with(chosen).run(),
    };
    for name in skipped {
        eprintln!(
            "\n*** SKIPPED: the journey on {name}, whose parts cannot be had here: see above. CI runs it. ***"
        );
    }
    done
}

fn is_set(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths;

    #[test]
    fn each_journey_is_a_nightly_test_of_its_cloud() {
        for cloud in &CLOUDS {
            let path = cloud.journey.split("::").collect::<Vec<_>>();
            let [folder, module, name] = path[..] else { panic!("{}", cloud.journey) };
            let file = paths::root().unwrap().join("tests/e2e/tests/all").join(folder).join(module);
            let text = std::fs::read_to_string(file.with_extension("rs")).unwrap();
            let (before, _) = text.split_once(&format!("async fn {name}()")).unwrap();
            let attributes = before.rsplit("\n\n").next().unwrap();
            assert!(attributes.contains("ignore = \"nightly: "), "{name} runs twice: {attributes}");
        }
    }

    #[test]
    fn a_ci_system_is_known_by_its_variable() {
        let is_ci = |value: &str| is_set(Some(OsStr::new(value)));
        assert!(is_ci("true") && is_ci("1"));
        assert!(!is_ci("") && !is_ci("false") && !is_ci("0") && !is_set(None));
    }
}
