//! Completion: scripts for shells, and answers to kubectl, which calls `kubectl_complete-machinist`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `names` | names of objects in the cluster |

mod names;

use std::collections::BTreeMap;

use clap::{Arg, ArgAction, Command, ValueHint};

/// cobra's directive: complete no names of files. Each answer to kubectl ends with a directive.
const NO_FILES: u8 = 4;

/// cobra's directive: names of files, since nothing better is known.
const FILES: u8 = 0;

/// Answers kubectl. `words`: all after `kubectl machinist`, the last of which is to be completed.
///
/// After an error the answer is empty: a shell cannot show errors.
pub(crate) async fn answer(command: Command, words: &[String]) {
    let mut command = command;
    command.build();
    let (lines, directive) = match completion(&command, words) {
        Completion::Words(words) => (words, NO_FILES),
        Completion::Files => (Vec::new(), FILES),
        Completion::Names(question) => (names::names(&question).await, NO_FILES),
    };
    for line in lines {
        println!("{line}");
    }
    println!(":{directive}");
}

#[derive(Debug, PartialEq, Eq)]
enum Completion {
    /// These, each with its help after a tab.
    Words(Vec<String>),
    Files,
    Names(Question),
}

#[derive(Debug, PartialEq, Eq)]
struct Question {
    /// The subcommand that they are for.
    command: String,
    /// The beginning of the name.
    begun: String,
    /// Flags that were given.
    flags: BTreeMap<String, String>,
}

/// Completes the last of these words. The command has to be built.
fn completion(command: &Command, words: &[String]) -> Completion {
    let Some((last, before)) = words.split_last() else { return Completion::Words(Vec::new()) };
    let mut here = command;
    let mut flags = BTreeMap::new();
    let mut path = Vec::new();
    let mut open: Option<&Arg> = None;
    for word in before {
        if let Some(arg) = open.take() {
            flags.insert(arg.get_id().to_string(), word.clone());
        } else if let Some((name, value)) = word.strip_prefix("--").and_then(|word| word.split_once('=')) {
            flags.insert(name.replace('-', "_"), value.to_owned());
        } else if word.starts_with('-') {
            open = flag(here, word).filter(|arg| takes_value(arg));
        } else if let Some(sub) = here.find_subcommand(word) {
            here = sub;
            path.push(sub.get_name());
        }
    }
    if let Some(arg) = open {
        return values(arg, "", last);
    }
    if let Some((name, begun)) = last.split_once('=').filter(|(name, _)| name.starts_with("--")) {
        return flag(here, name)
            .map_or(Completion::Words(Vec::new()), |arg| values(arg, &format!("{name}="), begun));
    }
    if last.starts_with('-') {
        return Completion::Words(flag_names(here, last));
    }
    if here.get_subcommands().next().is_some() {
        let subs = here.get_subcommands().filter(|sub| !sub.is_hide_set());
        let described = subs.map(|sub| described(sub.get_name(), sub.get_about().map(ToString::to_string)));
        return Completion::Words(
            described.filter(|described| described.starts_with(last.as_str())).collect(),
        );
    }
    match here.get_positionals().next() {
        None => Completion::Words(Vec::new()),
        Some(arg) if arg.get_id() == "subject" => {
            Completion::Names(Question { command: path.join(" "), begun: last.clone(), flags })
        }
        Some(_) if is_about_plugins(&path.join(" "), last) => {
            Completion::Names(Question { command: path.join(" "), begun: last.clone(), flags })
        }
        Some(arg) => values(arg, "", last),
    }
}

/// The subcommand's words are names of plugins or of their ConfigMaps. `diff` takes files as well.
fn is_about_plugins(command: &str, begun: &str) -> bool {
    match command {
        "plugin trial" | "plugin promote" | "plugin rollback" | "plugin logs" | "plugin resolve" => true,
        "plugin diff" => {
            let begins = |kind: &str| begun.starts_with(kind) || kind.starts_with(begun);
            !begun.is_empty() && ["configmap/", "cm/"].into_iter().any(begins)
        }
        _ => false,
    }
}

fn flag<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let is_it = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => {
            arg.get_short().is_some_and(|short| word.strip_prefix('-') == Some(short.to_string().as_str()))
        }
    };
    command.get_arguments().find(is_it)
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && !arg.is_require_equals_set()
}

fn flag_names(command: &Command, begun: &str) -> Vec<String> {
    let flags = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let named = flags.filter_map(|arg| Some((format!("--{}", arg.get_long()?), arg.get_help()?.to_string())));
    let mut described: Vec<String> = named
        .filter(|(name, _)| name.starts_with(begun))
        .map(|(name, help)| described(&name, Some(help)))
        .collect();
    described.sort();
    described
}

/// Completes the value of an argument.
fn values(arg: &Arg, prefix: &str, begun: &str) -> Completion {
    let possible = arg.get_possible_values();
    if possible.is_empty() && arg.get_value_hint() == ValueHint::FilePath {
        return Completion::Files;
    }
    let names = possible.iter().map(|value| value.get_name().to_owned());
    Completion::Words(
        names.filter(|name| name.starts_with(begun)).map(|name| format!("{prefix}{name}")).collect(),
    )
}

fn described(word: &str, about: Option<String>) -> String {
    let about = about.unwrap_or_default();
    let first = about.lines().next().unwrap_or_default();
    if first.is_empty() { word.to_owned() } else { format!("{word}\t{first}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::invocation_name::InvocationName;

    fn asked(text: &str) -> Completion {
        let mut command = InvocationName::Plugin.command(None);
        command.build();
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        completion(&command, &words)
    }

    /// The words without what they are for.
    fn offers(text: &str) -> Vec<String> {
        match asked(text) {
            Completion::Words(words) => {
                words.iter().map(|word| word.split('\t').next().unwrap_or_default().to_owned()).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn subcommands_and_flags_are_offered_where_they_may_stand() {
        assert_eq!(offers("tr"), ["tree"]);
        let rollout = ["history", "pause", "restart", "resume", "status", "undo"];
        let mut offered = offers("rollout ");
        offered.retain(|word| word != "help");
        offered.sort();
        assert_eq!(offered, rollout);
        assert_eq!(offers("rollout undo --to"), ["--to-revision"]);
        assert_eq!(offers("tree -n team w --wa"), ["--watch"]);
        assert!(
            !offers("").contains(&"compile-component".to_owned()),
            "a command for the host itself is shown"
        );
        assert!(matches!(asked("tr"), Completion::Words(words) if words[0].starts_with("tree\tShow ")));
    }

    #[test]
    fn values_are_offered_after_their_flags() {
        assert_eq!(offers("tree -o j"), ["json"]);
        assert_eq!(offers("tree --output=t"), ["--output=table"]);
        assert_eq!(asked("tree --kubeconfig x"), Completion::Files);
        assert_eq!(offers("tree --context x"), Vec::<String>::new());
        assert_eq!(asked("plugin inspect x"), Completion::Files);
    }

    #[test]
    fn names_of_plugins_are_asked_for_where_a_command_wants_one() {
        for command in ["trial", "promote", "rollback", "logs", "resolve"] {
            let Completion::Names(question) = asked(&format!("plugin {command} -n team si")) else {
                panic!("{command} offers no names")
            };
            let place = question.flags.get("namespace").map(String::as_str);
            assert_eq!(
                (question.command, question.begun.as_str(), place),
                (format!("plugin {command}"), "si", Some("team"))
            );
        }
        assert!(matches!(asked("plugin diff configmap/s"), Completion::Names(_)));
        assert!(matches!(asked("plugin diff old.wasm cm"), Completion::Names(_)));
        assert_eq!(asked("plugin diff old.wasm ./new"), Completion::Files);
        assert_eq!(asked("plugin diff "), Completion::Files);
    }

    #[test]
    fn names_of_objects_are_asked_for_with_the_flags_so_far() {
        let flags = [("namespace", "team"), ("context", "c"), ("watch", "false")];
        let question = Question {
            command: "rollout status".to_owned(),
            begun: "wor".to_owned(),
            flags: flags.map(|(flag, value)| (flag.to_owned(), value.to_owned())).into(),
        };
        let asked_for = asked("rollout status -n team --context=c --watch=false wor");
        assert_eq!(asked_for, Completion::Names(question));
        let Completion::Names(explain) = asked("explain machine/") else { panic!("names") };
        assert_eq!((explain.command.as_str(), explain.begun.as_str()), ("explain", "machine/"));
    }
}
