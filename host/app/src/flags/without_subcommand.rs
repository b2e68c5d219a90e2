//! A command line of machine-controller-manager under the name `machinist`: pods whose image has this program as its
//! entry point give arguments only, without a subcommand. The flags say which of the two binaries is meant, or the
//! image does.

use std::ffi::{OsStr, OsString};

use clap::{Args, Command};

use super::BinaryName;
use super::machines::{MachineFlags, OwnerFlags};
use super::unused::OVERSHOOTING_PERIOD;

/// The environment variable by which an image names the binary that this program replaces.
pub(crate) const VARIABLE: &str = "MACHINIST_PROGRAM";

/// The binary that a command line is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BinaryChoice {
    Itself,
    Binary(BinaryName),
    /// Several are possible; the text says how to choose one.
    Unclear(String),
}

/// Returns the binary that these words are for. `named`: the value of [`VARIABLE`].
pub(crate) fn chosen_binary(words: &[OsString], named: Option<&OsStr>) -> BinaryChoice {
    let Some(named) = named.filter(|named| !named.is_empty()) else { return by_flags(words) };
    match (BinaryName::BINARIES.into_iter().find(|binary| named == binary.name()), words.get(1)) {
        (_, Some(word)) if is_subcommand(word) || is_about_itself(word) => BinaryChoice::Itself,
        (Some(binary), Some(_) | None) => BinaryChoice::Binary(binary),
        (None, Some(_) | None) => BinaryChoice::Unclear(format!(
            "{VARIABLE}={}: must be machine-controller or machine-controller-manager",
            named.to_string_lossy()
        )),
    }
}

fn by_flags(words: &[OsString]) -> BinaryChoice {
    let Some(first) = words.get(1) else { return BinaryChoice::Itself };
    let known = names(&BinaryName::MachineController.command());
    if is_subcommand(first) || flag(first).is_none_or(|name| !known.iter().any(|known| known == name)) {
        return BinaryChoice::Itself;
    }
    let (machines, owners) = (own::<MachineFlags>(&[]), own::<OwnerFlags>(&[OVERSHOOTING_PERIOD]));
    let has_any = |own: &[String]| {
        words.iter().filter_map(|word| flag(word)).any(|name| own.iter().any(|own| own == name))
    };
    match (has_any(&machines), has_any(&owners)) {
        (true, false) => BinaryChoice::Binary(BinaryName::MachineController),
        (false, true) => BinaryChoice::Binary(BinaryName::MachineControllerManager),
        (true, true) | (false, false) => BinaryChoice::Unclear(format!(
            "there is no subcommand, and the flags do not tell which program is meant: `machinist run` with these flags runs all \
             controllers; {VARIABLE}=machine-controller or machine-controller-manager in the environment takes the place of one \
             binary of machine-controller-manager"
        )),
    }
}

fn is_subcommand(word: &OsStr) -> bool {
    word.to_str().is_none_or(|word| !word.starts_with('-'))
}

/// Help and version are always those of `machinist`.
fn is_about_itself(word: &OsStr) -> bool {
    ["-h", "--help", "-V", "--version"].iter().any(|own| word == *own)
}

/// The name of a flag, without its hyphens and its value.
fn flag(word: &OsStr) -> Option<&str> {
    let word = word.to_str()?.strip_prefix('-')?;
    let name = word.strip_prefix('-').unwrap_or(word);
    Some(name.split_once('=').map_or(name, |(name, _)| name))
}

fn names(command: &Command) -> Vec<String> {
    command.get_arguments().filter_map(|flag| flag.get_long()).map(str::to_owned).collect()
}

/// The flags that only one of the binaries has: those of the group, and these.
fn own<Group: Args>(beside: &[&str]) -> Vec<String> {
    let group = names(&Group::augment_args(Command::new("")));
    group.into_iter().chain(beside.iter().map(|name| (*name).to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], named: Option<&str>, expected: &str) {
        let words: Vec<OsString> =
            std::iter::once("machinist").chain(words.iter().copied()).map(OsString::from).collect();
        let shown = match chosen_binary(&words, named.map(OsStr::new)) {
            BinaryChoice::Itself => "itself".to_owned(),
            BinaryChoice::Binary(program) => program.name().to_owned(),
            BinaryChoice::Unclear(reason) => reason.split([':', ',']).next().unwrap_or_default().to_owned(),
        };
        assert_eq!(shown, expected, "{words:?} {named:?}");
    }

    #[test]
    fn the_flags_of_one_binary_say_that_it_is_meant() {
        let shared = ["--control-kubeconfig=inClusterConfig", "--namespace", "shoot--a--b", "--v=3"];
        check(&[&shared[..], &["--machine-drain-timeout=2h"]].concat(), None, "machine-controller");
        check(&["--machine-creation-timeout", "20m"], None, "machine-controller");
        check(&["-v=2", "--safety-up=2"], None, "machine-controller-manager");
        check(&["--v=2", "--machine-safety-overshooting-period=1m"], None, "machine-controller-manager");
    }

    #[test]
    fn flags_that_both_have_tell_nothing_and_the_image_may() {
        check(&["--control-kubeconfig=inClusterConfig"], None, "there is no subcommand");
        check(&["--safety-up=2", "--machine-drain-timeout=2h"], None, "there is no subcommand");
        check(&["--control-kubeconfig=x"], Some("machine-controller"), "machine-controller");
        check(&["--safety-up=2"], Some("machine-controller"), "machine-controller");
        check(&[], Some("machine-controller-manager"), "machine-controller-manager");
        check(&["--namespace=x"], Some("kubelet"), "MACHINIST_PROGRAM=kubelet");
        check(&["--namespace=x"], Some(""), "there is no subcommand");
    }

    #[test]
    fn a_subcommand_help_and_flags_of_others_are_its_own() {
        for words in [
            &["run", "--machine-drain-timeout=2h"][..],
            &["tree"],
            &[],
            &["--help"],
            &["-V"],
            &["--no-such-flag"],
        ] {
            check(words, None, "itself");
        }
        for words in [&["run"][..], &["plugin", "list"], &["--help"]] {
            check(words, Some("machine-controller"), "itself");
        }
    }
}
