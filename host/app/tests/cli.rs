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
        "--target-kubeconfig", "--control-kubeconfig", "--namespace", "--machine-creation-timeout",
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
    assert_eq!(String::from_utf8_lossy(&words.stdout), "undo\tRoll back to an earlier template\n:4\n");
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
    let grants = |name: &str| {
        std::fs::read_to_string(folder.path().join(name).join("grants.yaml")).expect("a project has grants")
    };
    assert!(grants("my-cloud").contains("providers: [my-cloud]"));
    let named = ["driver", "new", "--lang", "go", "my-stack", "--provider", "OpenStack", "--path", path];
    let output = machinist(&named);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(grants("my-stack").contains("providers: [OpenStack]"));
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

#[test]
fn arguments_of_machine_controller_manager_need_no_subcommand() {
    let called = |arguments: &[&str], program: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
        command.args(arguments).env_remove("MACHINIST_PROGRAM").env("RUST_BACKTRACE", "0");
        if let Some(program) = program {
            command.env("MACHINIST_PROGRAM", program);
        }
        let output = command.output().expect("the binary starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let shared = [
        "--control-kubeconfig=/does/not/exist", "--target-kubeconfig=none", "--namespace=shoot--a--b",
        "--v=3",
    ];
    for own in ["--machine-drain-timeout=2h", "--safety-up=2"] {
        let (code, said) = called(&[&shared[..], &[own]].concat(), None);
        assert!(code == Some(1) && said.contains("/does/not/exist"), "{own}: {said}");
    }
    let (code, said) = called(&shared, None);
    assert!(
        code == Some(2) && said.contains("`machinist run`") && said.contains("MACHINIST_PROGRAM"),
        "{said}"
    );
    let (code, said) = called(&shared, Some("machine-controller"));
    assert!(code == Some(1) && said.contains("/does/not/exist"), "{said}");
    let wrong = [&shared[..], &["--machine-drain-timeout=soon"]].concat();
    let (_, said) = called(&wrong, None);
    assert!(said.contains("machine-controller --help"), "its own help is named: {said}");
    refuses(&["--no-such-flag"], "unexpected argument");
}

#[test]
fn a_key_is_made_once_and_no_half_of_a_pair_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("k");
    std::fs::write(prefix.with_extension("pub"), "somebody's").expect("written");
    let prefix = prefix.to_str().expect("text");
    refuses(&["plugin", "keygen", prefix], "k.pub is there already, and a key is never overwritten");
    refuses(&["plugin", "keygen", prefix], "name other files, as in `machinist plugin keygen");
    assert!(!folder.path().join("k.key").exists());
}

#[test]
fn an_error_names_each_cause_once() {
    let output = Command::new(env!("CARGO_BIN_EXE_machinist"))
        .args(["plugin", "list"])
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("environment variable not found").count(), 1, "{said}");
    refuses(&["plugin", "logs", "sim", "--url", "http://127.0.0.1:1"], "onnection refused");
    let output = machinist(&["plugin", "logs", "sim", "--url", "http://127.0.0.1:1"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("client error (Connect)").count(), 1, "{said}");
}
