//! Errors name the problem and what to do. The plugin host's tests cover the components.

use std::fs;
use std::path::Path;

use go_component::Build;

fn build(folder: &Path, go: &str, version: Option<&str>) -> String {
    let component = folder.join("made/component.wasm");
    let build = Build {
        folder: folder.to_owned(),
        component: component.clone(),
        version: version.map(str::to_owned),
        go: go.into(),
    };
    let error = build.run().expect_err("cannot be built");
    assert!(!component.exists(), "nothing half-done is left");
    error.to_string()
}

fn program(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("go.mod"), "module example.com/a\n\ngo 1.24\n").unwrap();
    fs::write(folder.path().join("main.go"), source).unwrap();
    folder
}

#[test]
fn a_folder_without_a_module_says_how_to_make_one() {
    let folder = tempfile::tempdir().unwrap();
    assert!(build(folder.path(), "go", None).contains("run `go mod init NAME`"));
    assert!(build(&folder.path().join("gone"), "go", None).contains("failed to open the folder"));
}

#[test]
fn a_machine_without_go_says_where_to_get_it() {
    let folder = program("package main\n\nfunc main() {}\n");
    let said = build(folder.path(), "no-such-go", None);
    assert!(said.contains("failed to start no-such-go") && said.contains("https://go.dev/dl/"), "{said}");
}

#[test]
fn a_mistake_in_the_source_is_said_in_the_compilers_words() {
    let folder = program("package main\n\nfunc main() { oops }\n");
    assert!(build(folder.path(), "go", None).contains("main.go:3:15: undefined: oops"));
}

#[test]
fn modules_that_are_not_noted_are_named_with_the_command() {
    let folder = program("package main\n\nimport _ \"example.com/b\"\n\nfunc main() {}\n");
    let required = "module example.com/a\n\ngo 1.24\n\nrequire example.com/b v1.0.0\n";
    fs::write(folder.path().join("go.mod"), required).unwrap();
    let said = build(folder.path(), "go", None);
    let fix = format!("run `go mod tidy` in {}\n", folder.path().display());
    assert!(said.contains(&fix) && said.contains("example.com/b"), "{said}");
}

#[test]
fn a_program_that_serves_nothing_says_where_to_serve() {
    let folder = program("package main\n\nfunc main() {}\n");
    assert!(
        build(folder.path(), "go", None).contains("call component.Serve in an init function of package main")
    );
    let broken = program("package main\n\nfunc init() { panic(\"oops\") }\n\nfunc main() {}\n");
    let said = build(broken.path(), "go", None);
    assert!(said.contains("ends before it serves anything") && said.contains("oops"), "{said}");
}

#[test]
fn a_version_is_no_place_for_flags() {
    let folder = program("package main\n\nfunc main() {}\n");
    for version in ["", "1.0.0 -X a.b=c", "1.0\n"] {
        assert!(build(folder.path(), "go", Some(version)).contains("is no version"), "{version:?}");
    }
}
