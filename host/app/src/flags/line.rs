//! A command line that runs controllers.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use machinist_runtime::settings::Controllers;

use super::RunFlags;
use super::machines::MachineFlags;
use super::owners::OwnerFlags;
use super::record::RecordFlags;
use super::unused::UnusedFlags;

/// Flags, and which of them somebody has typed.
#[derive(Debug)]
pub(crate) struct Line {
    /// The flags.
    pub(crate) flags: RunFlags,
    /// Ids, in the order of the help.
    typed: Vec<String>,
}

impl Line {
    /// What was read from the command line of this command.
    pub(crate) fn of(flags: RunFlags, command: &Command, matches: &ArgMatches) -> Self {
        let is_typed = |id: &str| {
            matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine)
        };
        let ids = command.get_arguments().map(|flag| flag.get_id().as_str());
        Self { flags, typed: ids.filter(|id| is_typed(id)).map(str::to_owned).collect() }
    }

    /// True when this flag was typed.
    pub(crate) fn is_typed(&self, id: &str) -> bool {
        self.typed.iter().any(|typed| typed == id)
    }

    /// Flags that were typed and that change nothing, in the order of the alphabet.
    pub(crate) fn idle(&self, controllers: Controllers) -> Vec<String> {
        let mut idle = ids::<UnusedFlags>();
        if !controllers.machines {
            idle.extend(ids::<MachineFlags>());
            idle.extend(ids::<RecordFlags>());
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

/// Of all flags of a group.
fn ids<Group: Args>() -> Vec<String> {
    let group = Group::augment_args(Command::new(""));
    group.get_arguments().map(|flag| flag.get_id().to_string()).collect()
}
