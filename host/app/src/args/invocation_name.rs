//! The name of the file that was started: kubectl finds its plugins by their names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::builder::Resettable;
use clap::{Command, CommandFactory};

use crate::args::Machinist;

/// The name by which kubectl looks for the plugin `kubectl machinist`.
const PLUGIN: &str = "kubectl-machinist";

/// The name of the program that kubectl calls to complete words.
const PLUGIN_COMPLETION: &str = "kubectl_complete-machinist";

/// Subcommands about objects in one namespace. Those about plugins use the host's namespace by default.
const IN_NAMESPACE: [&str; 3] = ["explain", "tree", "rollout"];

/// The way in which the program was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvocationName {
    /// `machinist`, or any other name.
    Itself,
    Plugin,
    /// The program that completes the words after `kubectl machinist`.
    PluginCompletion,
}

impl InvocationName {
    /// Returns it by the first word of the command line, which is the name of the file.
    pub(crate) fn of(first: Option<&OsStr>) -> Self {
        let name = first.map(Path::new).and_then(Path::file_name).and_then(OsStr::to_str).unwrap_or_default();
        match name.strip_suffix(".exe").unwrap_or(name) {
            PLUGIN => Self::Plugin,
            PLUGIN_COMPLETION => Self::PluginCompletion,
            _ => Self::Itself,
        }
    }

    /// The words that users type.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Self::Itself => "machinist",
            Self::Plugin | Self::PluginCompletion => "kubectl machinist",
        }
    }

    /// The name of the file that a shell completes.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::Itself => "machinist",
            Self::Plugin | Self::PluginCompletion => PLUGIN,
        }
    }

    /// The command line. Users of kubectl expect their own kubeconfig, and the namespace of its context.
    pub(crate) fn command(self, kubeconfig: Option<&'static Path>) -> Command {
        let command = Machinist::command();
        match self {
            Self::Itself => command,
            Self::Plugin | Self::PluginCompletion => as_plugin(command.bin_name(self.program()), kubeconfig),
        }
    }
}

/// Where kubectl finds a kubeconfig when nobody names one, if it is there. Asked once; the command line holds it to its
/// end.
pub(crate) fn own_kubeconfig() -> Option<&'static Path> {
    static FOUND: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        std::env::home_dir().map(|home| home.join(".kube/config")).filter(|path| path.exists())
    });
    FOUND.as_deref()
}

fn as_plugin(command: Command, kubeconfig: Option<&'static Path>) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().filter(|name| name != "run").fold(command, |command, name| {
        let is_in_namespace = IN_NAMESPACE.contains(&name.as_str());
        command.mut_subcommand(name, |sub| each(sub, &|sub| with_defaults(sub, is_in_namespace, kubeconfig)))
    })
}

fn each(command: Command, change: &impl Fn(Command) -> Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names
        .into_iter()
        .fold(change(command), |command, name| command.mut_subcommand(name, |sub| each(sub, change)))
}

fn with_defaults(command: Command, is_in_namespace: bool, kubeconfig: Option<&'static Path>) -> Command {
    command.mut_args(|arg| match (arg.get_id().as_str(), kubeconfig) {
        ("namespace", _) if is_in_namespace => arg
            .default_value(Resettable::<clap::builder::OsStr>::Reset)
            .help("Namespace of the objects; by default that of the context"),
        ("kubeconfig", Some(path)) => arg.default_value(path.as_os_str()),
        _ => arg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;
    use clap::error::ErrorKind;

    fn of(first: &str) -> InvocationName {
        InvocationName::of(Some(OsStr::new(first)))
    }

    #[test]
    fn the_name_of_the_file_decides() {
        assert_eq!(of("/usr/local/bin/kubectl-machinist"), InvocationName::Plugin);
        assert_eq!(of("kubectl-machinist.exe"), InvocationName::Plugin);
        assert_eq!(of("./kubectl_complete-machinist"), InvocationName::PluginCompletion);
        for other in ["machinist", "/opt/machinist", "kubectl-machinist-2", "kubectl", ""] {
            assert_eq!(of(other), InvocationName::Itself, "{other}");
        }
        assert_eq!(InvocationName::of(None), InvocationName::Itself);
    }

    fn usage(invoked_as: InvocationName, words: &[&str]) -> String {
        let error = invoked_as.command(None).try_get_matches_from(words).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{error}");
        error.to_string()
    }

    #[test]
    fn usage_has_the_words_that_were_typed() {
        let plugin = usage(InvocationName::Plugin, &["/bin/kubectl-machinist", "rollout", "undo", "--help"]);
        assert!(plugin.contains("Usage: kubectl machinist rollout undo"), "{plugin}");
        assert!(
            plugin.contains("by default that of the context") && !plugin.contains("machinist-system"),
            "{plugin}"
        );
        let own = usage(InvocationName::Itself, &["machinist", "rollout", "undo", "--help"]);
        assert!(own.contains("Usage: machinist rollout undo"), "{own}");
        assert!(own.contains("[default: machinist-system]"), "{own}");
    }

    #[test]
    fn both_command_lines_are_sound() {
        InvocationName::Itself.command(None).debug_assert();
        InvocationName::Plugin.command(Some(Path::new("/nowhere"))).debug_assert();
    }

    #[test]
    fn the_plugins_namespace_stays_the_hosts() {
        let matches = InvocationName::Plugin
            .command(None)
            .try_get_matches_from(["kubectl-machinist", "plugin", "list"])
            .unwrap();
        let parsed = Machinist::from_arg_matches(&matches).unwrap();
        assert!(format!("{parsed:?}").contains("machinist-system"), "{parsed:?}");
    }
}
