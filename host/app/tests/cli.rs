//! The command line as its users meet it, above all when they type the wrong thing.

use std::process::{Command, Output};

fn machinist(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_machinist")).args(arguments).output().expect("the binary starts")
}

#[track_caller]
fn refuses(arguments: &[&str], part: &str) {
    let output = machinist(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{arguments:?} is accepted");
    assert!(said.contains(part), "{arguments:?} says {said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn help_names_the_commands_and_the_flags_that_operators_know() {
    let help = String::from_utf8(machinist(&["--help"]).stdout).expect("help is text");
    for command in ["run", "plugin", "tree", "rollout", "explain", "completion"] {
        assert!(help.contains(command), "{command} is missing in\n{help}");
    }
    assert!(!help.contains("compile-component"), "a command for the host itself is shown");
    let help = String::from_utf8(machinist(&["run", "--help"]).stdout).expect("help is text");
    for flag in [
        "--target-kubeconfig",
        "--control-kubeconfig",
        "--namespace",
        "--machine-creation-timeout",
        "--leader-elect",
    ] {
        assert!(help.contains(flag), "{flag} is missing in\n{help}");
    }
}

#[test]
fn completion_is_printed_for_a_shell() {
    let output = machinist(&["completion", "bash"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("_machinist"));
}

#[cfg(unix)]
#[test]
fn called_by_kubectl_it_speaks_as_its_plugin() {
    use std::os::unix::process::CommandExt;

    let called = |name: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
        command.arg0(name).args(arguments).env_remove("KUBECONFIG").env("HOME", "/nowhere");
        command.output().expect("the binary starts")
    };
    let help = called("/opt/kubectl-machinist", &["rollout", "undo", "--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(help.contains("Usage: kubectl machinist rollout undo"), "{help}");
    assert!(help.contains("by default that of the context"), "{help}");
    let script = called("kubectl-machinist", &["completion", "bash"]);
    assert!(String::from_utf8_lossy(&script.stdout).contains(" kubectl-machinist"));
    let words = called("kubectl_complete-machinist", &["rollout", "un"]);
    assert_eq!(String::from_utf8_lossy(&words.stdout), "undo\tReturn to an earlier template\n:4\n");
    let own = String::from_utf8(machinist(&["rollout", "undo", "--help"]).stdout).expect("help is text");
    assert!(own.contains("Usage: machinist rollout undo") && own.contains("machinist-system"), "{own}");
}

#[test]
fn wrong_flags_are_refused_with_the_reason() {
    refuses(&["rollout", "status"], "<NAME>");
    refuses(&["rollout", "undo", "w", "--to-revision=-1"], "-1");
    refuses(&["rollout", "status", "w", "--timeout", "ten"], "ten");
    refuses(&["tree", "w", "--context", "c", "--kubeconfig", "/does/not/exist"], "/does/not/exist");
    refuses(&["run", "--machine-health-timeout", "ten"], "ten");
    refuses(&["run", "--machine-health-timeout=-5m"], "must not be negative");
    refuses(&["run", "--concurrent-syncs", "0"], "0");
    refuses(&["run", "--port", "70000"], "70000");
    refuses(&["run", "--log", "info,=,"], "--log");
    for command in ["list", "inspect", "push"] {
        refuses(&["plugin"], command);
    }
    refuses(&["plugin", "inspect"], "FILE");
    refuses(&["plugin", "inspect", "a.wasm", "--configmap", "a"], "cannot be used with");
    refuses(&["plugin", "push", "a.wasm", "--configmap", "a", "--encoding", "lzma"], "zstd");
}

#[test]
fn a_cluster_that_is_not_named_right_is_an_error_and_no_guess() {
    refuses(&["run", "--target-kubeconfig", "none"], "--control-kubeconfig");
    refuses(&["run", "--target-kubeconfig", "/does/not/exist"], "/does/not/exist");
    refuses(&["plugin", "list", "--kubeconfig", "/does/not/exist"], "/does/not/exist");
    let inspect = ["plugin", "inspect", "--configmap", "sim", "--kubeconfig", "/does/not/exist"];
    refuses(&inspect, "/does/not/exist");
    let times = ["run", "--leader-elect-renew-deadline", "1m"];
    refuses(&times, "--leader-elect-lease-duration");
}

#[test]
fn a_new_driver_is_a_project_that_says_what_comes_next_and_is_made_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    let output = machinist(&["driver", "new", "--lang", "python", "my-cloud", "--path", path]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for word in
        ["my-cloud", "unittest", "machinist driver build", "plugin inspect my-cloud.wasm", "--sdk PATH"]
    {
        assert!(said.contains(word), "{word} is missing in\n{said}");
    }
    assert!(folder.path().join("my-cloud/my_cloud_driver/cloud.py").is_file());
    refuses(&["driver", "new", "--lang", "rust", "my-cloud", "--path", path], "is there already");
    refuses(
        &["driver", "new", "--lang", "rust", "other", "--path", path, "--sdk", path],
        "sdk/rust/Cargo.toml",
    );
    assert!(!folder.path().join("other").exists());
    refuses(&["driver", "new", "--lang", "cobol", "my-cloud"], "rust, go, js, python");
    refuses(&["driver", "new", "--lang", "rust", "My_Cloud"], "lower-case");
    refuses(&["driver", "new", "my-cloud"], "--lang");
}

#[test]
fn what_is_no_project_is_not_built() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("text");
    refuses(&["driver", "build", path], "machinist driver new");
    std::fs::write(folder.path().join("pyproject.toml"), "[project]\nname = \"a\"").expect("written");
    refuses(&["driver", "build", path], "driver = \"MODULE:CLASS\"");
    refuses(&["driver", "build", "nowhere/at/all"], "nowhere/at/all");
}
