//! A command line that runs controllers.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use machinist_runtime::context::settings::Controllers;

use super::RunFlags;
use super::machines::{MachineFlags, OwnerFlags, SecretFlags};
use super::plugins::{RecordFlags, SandboxFlags};
use super::unused::UnusedFlags;

/// The flags, and the ids of those that were typed.
#[derive(Debug)]
pub(crate) struct CommandLine {
    pub(crate) flags: RunFlags,
    /// Ids, in the order of the help.
    typed: Vec<String>,
}

impl CommandLine {
    /// Reads the matches of this command.
    pub(crate) fn of(flags: RunFlags, command: &Command, matches: &ArgMatches) -> Self {
        let is_typed = |id: &str| {
            matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine)
        };
        let ids = command.get_arguments().map(|flag| flag.get_id().as_str());
        Self { flags, typed: ids.filter(|id| is_typed(id)).map(str::to_owned).collect() }
    }

    /// True if --cache-dir was typed.
    pub(crate) fn is_cache_dir_typed(&self) -> bool {
        self.typed.iter().any(|typed| typed == "cache_dir")
    }

    /// Returns the typed flags that have no effect, in alphabetical order.
    pub(crate) fn idle(&self, controllers: Controllers) -> Vec<String> {
        let mut idle = ids::<UnusedFlags>();
        if !controllers.machines {
            idle.extend(ids::<MachineFlags>());
            idle.extend(ids::<RecordFlags>());
            idle.extend(ids::<SandboxFlags>());
            idle.extend(ids::<SecretFlags>());
        }
        if !controllers.sets && !controllers.deployments {
            idle.extend(ids::<OwnerFlags>());
        }
        let typed = self.typed.iter().filter(|id| idle.contains(*id));
        let mut names: Vec<String> = typed.map(|id| format!("--{}", id.replace('_', "-"))).collect();
        names.sort();
        names
    }
}

/// The ids of all flags of a group.
fn ids<Group: Args>() -> Vec<String> {
    let group = Group::augment_args(Command::new(""));
    group.get_arguments().map(|flag| flag.get_id().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::{CommandFactory as _, FromArgMatches as _};

    use super::*;
    use crate::args::Machinist;
    use crate::flags::BinaryName;

    fn words<'a>(words: &[&'a str], more: &[&'a str]) -> Vec<OsString> {
        [words, more].concat().into_iter().map(OsString::from).collect()
    }

    /// The line of `machinist run`.
    fn own(more: &[&str]) -> CommandLine {
        let command = Machinist::command();
        let matches = command.clone().try_get_matches_from(words(&["machinist", "run"], more)).unwrap();
        let (run, given) =
            (command.find_subcommand("run").unwrap(), matches.subcommand_matches("run").unwrap());
        CommandLine::of(RunFlags::from_arg_matches(given).unwrap(), run, given)
    }

    #[test]
    fn a_cache_dir_is_typed_only_when_somebody_types_it_even_if_it_is_the_default() {
        for (typed, expected) in [
            ("", false),
            ("--log=info", false),
            ("--cache-dir=/var/cache/machinist", true),
            ("--cache-dir /cache", true),
        ] {
            let typed: &[&str] = &typed.split_whitespace().collect::<Vec<_>>();
            assert_eq!(own(typed).is_cache_dir_typed(), expected, "machinist run {typed:?}");
            for binary in BinaryName::BINARIES {
                let line = binary.parse(words(&[binary.name()], typed)).unwrap();
                assert_eq!(line.is_cache_dir_typed(), expected, "{} {typed:?}", binary.name());
            }
        }
    }
}
