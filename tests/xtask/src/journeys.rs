//! One life of Machines on each cloud of real parts. The other clouds have theirs among the tests of each change.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;

use crate::shell::Line;

/// Set where no cloud may be skipped.
const EVERY_CLOUD: &str = "MACHINIST_EVERY_CLOUD";

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
/// of `cargo test`. Without the parts of a cloud, its journey is skipped, with a notice, unless
/// `MACHINIST_EVERY_CLOUD` is set.
pub(crate) fn run(binaries: &Path, tests: Line) -> Result<()> {
    let is_required = is_set(env::var_os(EVERY_CLOUD).as_deref());
    let (mut journeys, mut skipped) = (Vec::new(), Vec::new());
    for cloud in &CLOUDS {
        match Line::new(binaries.join(cloud.program)).with(&["prepare"]).run() {
            Ok(()) => journeys.push(cloud.journey),
            Err(error) if is_required => {
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
            "\n*** SKIPPED: the journey on {name}, whose parts cannot be had here: see above. With {EVERY_CLOUD}=1 this fails. ***"
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
    fn every_cloud_is_required_where_the_variable_says_so() {
        let requires = |value: &str| is_set(Some(OsStr::new(value)));
        assert!(requires("true") && requires("1"));
        assert!(!requires("") && !requires("false") && !requires("0") && !is_set(None));
    }
}
