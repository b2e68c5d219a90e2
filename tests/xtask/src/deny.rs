//! cargo-deny: licences, doubled versions, sources and advisories of what we depend on. The rules are in `deny.toml`.

use std::path::PathBuf;

use anyhow::Result;

use crate::shell::Line;

/// The release that is installed, so that everyone gets the same answer.
const VERSION: &str = "0.20.2";

/// Runs these checks of cargo-deny.
pub(crate) fn check(checks: &[&str]) -> Result<()> {
    Line::new(installed()?).with(&["--workspace", "check", "--hide-inclusion-graph"]).with(checks).run()
}

/// The binary: from the cache or the PATH if its version is right, otherwise compiled into the cache (some minutes).
fn installed() -> Result<PathBuf> {
    let tools = cache::folder()?.join("tools");
    let ours = tools.join("bin/cargo-deny");
    let found = [ours.clone(), PathBuf::from("cargo-deny")].into_iter().find(|program| {
        let answer = Line::new(program).with(&["--version"]).answer();
        answer.is_some_and(|text| text.split_whitespace().any(|word| word == VERSION))
    });
    if let Some(program) = found {
        return Ok(program);
    }
    println!("cargo-deny {VERSION} is compiled for the first time on this machine; this takes some minutes");
    std::fs::create_dir_all(&tools)?;
    // Outside the clone, whose settings are for the workspace.
    Line::cargo(&["install", "cargo-deny", "--quiet", "--locked", "--force", "--version", VERSION, "--root"])
        .with(&[&tools])
        .in_folder(&tools)
        .run()?;
    Ok(ours)
}
