//! New projects of `driver new` work with the tools of their language.
//!
//! The project in Rust is a member of this workspace, where it is compiled, checked and tested; this test only compares
//! it. Projects in other languages are created and their unit tests run, if the language is installed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use machinist_author::language::Language;
use machinist_author::name::Name;
use machinist_author::sdk::{Sdk, VERSION};
use machinist_author::template::{files, steps, write};
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn made(language: Language) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("my-cloud");
    let sdk = Sdk::checkout(&root(), language).unwrap();
    write(&project, &files(language, &"my-cloud".parse().unwrap(), &"my-cloud".parse().unwrap(), &sdk))
        .unwrap();
    (folder, project)
}

/// Runs a command that has to succeed, and returns its output.
fn passes(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn the_project_in_rust_is_the_one_that_this_workspace_tests() {
    let fixture = root().join("tests/fixtures/templated");
    for file in
        files(Language::Rust, &"templated".parse().unwrap(), &"templated".parse().unwrap(), &Sdk::Published)
    {
        // The other files name the workspace, or are for people.
        if !file.path.starts_with("src/") && file.path != "settings.json" {
            continue;
        }
        let at = fixture.join(&file.path);
        if env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&at, &file.text).unwrap();
        }
        let there = fs::read_to_string(&at).unwrap_or_default();
        assert!(
            there == file.text,
            "{} is stale: run `UPDATE_EXPECT=1 cargo test -p machinist-author --test projects`",
            at.display()
        );
    }
}

#[test]
fn the_project_in_go_passes_its_tests() {
    if !Command::new("go").arg("version").output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let (_folder, project) = made(Language::Go);
    let said = passes(Command::new("go").args(["test", "-v", "./..."]).current_dir(&project));
    assert_eq!(said.matches("--- PASS").count(), 6, "{said}");
}

/// The steps of an author without a checkout: the SDK comes from a repository with the tag of this version, and
/// `driver new` prints the commands.
#[test]
fn the_project_in_go_takes_a_published_sdk_and_passes_its_tests() {
    if !Command::new("go").arg("version").output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let published = folder.path().join("published");
    fs::create_dir_all(published.join("sdk")).unwrap();
    passes(Command::new("cp").arg("-R").arg(root().join("sdk/go")).arg(published.join("sdk")));
    passes(Command::new("cp").arg(root().join("LICENSE")).arg(&published));
    let tag = format!("sdk/go/v{VERSION}");
    for line in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "Release"], &["tag", &tag]] {
        let author = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
        passes(Command::new("git").args(author).args(line).current_dir(&published));
    }
    let (project, name) = (folder.path().join("my-cloud"), "my-cloud".parse::<Name>().unwrap());
    write(&project, &files(Language::Go, &name, &name.provider(), &Sdk::Published)).unwrap();
    let steps = steps(Language::Go, &name);
    let said = passes(
        Command::new("sh")
            .args(["-c", steps.lines().next().unwrap()])
            .current_dir(&project)
            .env("GOPATH", folder.path().join("go"))
            .env("GOFLAGS", "-modcacherw")
            .envs([("GOPROXY", "direct"), ("GOSUMDB", "off"), ("GOTOOLCHAIN", "local")])
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", format!("url.{}.insteadOf", published.display()))
            .env("GIT_CONFIG_VALUE_0", "https://github.com/machinist-dev/machinist"),
    );
    assert!(said.contains("ok  \tmy-cloud-driver/vms"), "{said}");
}

#[test]
fn the_project_in_python_passes_its_tests() {
    if !is_installed("python3") {
        return;
    }
    let (_folder, project) = made(Language::Python);
    let said = passes(
        Command::new("python3")
            .args(["-m", "unittest", "-v"])
            .env("PYTHONPATH", root().join("sdk/python/src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(project),
    );
    assert!(said.contains("Ran 6 tests"), "{said}");
}

#[test]
fn the_project_in_javascript_passes_its_tests() {
    let tool = root().join("sdk/js/tools/machinist-js.js");
    if !is_installed("node") || !has_javascript_tools() {
        return;
    }
    let (_folder, project) = made(Language::JavaScript);
    // `npm install` creates this for a package that is a folder.
    fs::create_dir(project.join("node_modules")).unwrap();
    std::os::unix::fs::symlink(root().join("sdk/js"), project.join("node_modules/machinist-sdk")).unwrap();
    let said = passes(Command::new("node").arg(tool).arg("test").arg(project));
    assert!(said.contains("pass 6") && said.contains("fail 0"), "{said}");
}

/// The bundler is 400 MB that `machinist-js setup` installs: a unit test does not do that.
fn has_javascript_tools() -> bool {
    let entries = cache::folder().ok().and_then(|cache| fs::read_dir(cache).ok());
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).any(|name| {
        let hash = name.strip_prefix("js-");
        hash.is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    })
}
