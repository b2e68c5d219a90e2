//! Random command lines: each is accepted, or refused with an error.

use std::ffi::OsString;
use std::sync::atomic::AtomicU64;

use clap::{CommandFactory as _, Parser as _};
use fuzz::mutate::Grammar;
use fuzz::{Plan, Shape, Target, Verdict};

use super::{BinaryName, CommandLine, RunFlags, chosen_binary};
use crate::args::{Command, Machinist};

const TARGET: Target = Target {
    name: "flags",
    about: "command lines of all programs: all that is wrong is told, and nothing panics",
    grammar: Grammar::Text,
    samples,
    words: &[
        "--port=", "--address=", "--controllers=", "--cluster-api=", "*", "-machine", "--concurrent-syncs=",
        "--min-resync-period=", "--kube-api-qps=", "--kube-api-burst=", "--safety-up=",
        "--max-unhealthy-replacements=", "100%", "--leader-elect-lease-duration=", "--log=", "-v=",
        "--record", "--require-signature=", "--class-name", "plugin", "push", "driver", "test", "rollout",
        "status", "explain", "tree", "--", "run",
    ],
    share: 0,
    check,
};

fn samples() -> Vec<Vec<u8>> {
    let lines = [
        "machinist\nrun\n--namespace=shoot\n--port=0\n--leader-elect=false\n--log=info,machinist_runtime=debug",
        "machinist\nrun\n--min-resync-period=0\n--machine-creation-timeout=20m\n--safety-up=2\n-v=4",
        "machinist\nplugin\npush\ndriver.wasm\n--configmap\naws-1\n--plugin-name\naws",
        "machinist\nrollout\nstatus\nworkers\n--namespace=shoot",
        "machine-controller\n--target-kubeconfig=none\n--node-conditions=KernelDeadlock\n--kube-api-qps=20",
        "machine-controller-manager\n--controllers=*\n--address=::\n--kube-api-content-type=application/json",
    ];
    let usual: Vec<String> = BinaryName::BINARIES.iter().map(|binary| with_defaults(*binary)).collect();
    lines
        .iter()
        .map(|line| line.as_bytes().to_vec())
        .chain(usual.into_iter().map(String::into_bytes))
        .collect()
}

/// All flags with their defaults.
fn with_defaults(binary: BinaryName) -> String {
    let command = binary.command();
    let flags = command.get_arguments().filter_map(|flag| {
        let value = flag.get_default_values().first()?.to_string_lossy().into_owned();
        Some(format!("--{}={value}", flag.get_long()?))
    });
    std::iter::once(binary.name().to_owned()).chain(flags).collect::<Vec<_>>().join("\n")
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let words: Vec<OsString> =
        text.split('\n').filter(|word| !word.contains('\0')).map(OsString::from).collect();
    let unnamed = chosen_binary(&words, None);
    let program = BinaryName::of(words.first().map(OsString::as_os_str));
    let outcome = match program {
        BinaryName::Machinist => match Machinist::try_parse_from(words) {
            Ok(Machinist { command: Command::Run(flags) }) => of_flags(&flags),
            Ok(_) => "another command".to_owned(),
            Err(error) => error.kind().to_string(),
        },
        binary => match binary.parse(words) {
            Ok(line) => of_line(&line),
            Err(error) => error.kind().to_string(),
        },
    };
    Ok(Shape::of(&outcome).and(Shape::of(&format!("{unnamed:?}"))))
}

fn of_line(line: &CommandLine) -> String {
    of_flags(&line.flags)
}

fn of_flags(flags: &RunFlags) -> String {
    match flags.check() {
        Ok(checked) => format!("{:?}", checked.settings),
        Err(error) => error.to_string(),
    }
}

#[test]
fn no_command_line_makes_a_panic() {
    Machinist::command().debug_assert();
    let plan = Plan { inputs: u64::from(tier::cases(1_000)), seed: 1, jobs: 1, trace: None };
    let summary = fuzz::run(&TARGET, &plan, &AtomicU64::new(0));
    assert_eq!(summary.findings, []);
    assert!(summary.shapes > 20, "{} ways", summary.shapes);
}
