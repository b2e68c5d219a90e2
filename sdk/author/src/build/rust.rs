//! Rust: cargo with the target wasm32-wasip2, whose linker makes the component.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::Error;
use super::tool::{Need, line, said};

const TARGET: &str = "wasm32-wasip2";
/// The Rust version that the SDK requires.
const RUST: Need = Need {
    name: "Rust",
    asks: "--version",
    least: (1, 95),
    install: "install it with https://rustup.rs",
    renew: "rustup update",
};

pub(super) fn build(folder: &Path, output: &Path) -> Result<(), Error> {
    RUST.check(OsStr::new("rustc"), folder)?;
    let mut library = Command::new("rustc");
    library.args(["--print", "target-libdir", "--target", TARGET]).current_dir(folder);
    if !said(&mut library)?.is_some_and(|path| Path::new(path.trim()).is_dir()) {
        return Err(Error::Missing {
            what: format!("the target {TARGET} of Rust"),
            fix: format!("rustup target add {TARGET}"),
        });
    }
    let mut cargo = Command::new("cargo");
    cargo
        .args(["build", "--release", "--target", TARGET, "--message-format", "json-render-diagnostics"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let built = cargo.output().map_err(|source| Error::Start { program: line(&cargo), source })?;
    if !built.status.success() {
        return Err(Error::Failed { line: line(&cargo) });
    }
    let made = component(&String::from_utf8_lossy(&built.stdout), &folder.join("Cargo.toml"));
    let Some(made) = made else {
        let fix = "Cargo.toml needs [lib] with crate-type = [\"cdylib\"]".to_owned();
        return Err(Error::Nothing { line: line(&cargo), fix });
    };
    std::fs::copy(&made, output).map_err(|source| Error::Write { at: output.to_owned(), source })?;
    Ok(())
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

/// Returns the component of the crate with this manifest, from cargo's messages.
fn component(messages: &str, manifest: &Path) -> Option<PathBuf> {
    let real = manifest.canonicalize().ok();
    let same =
        |path: &Path| path == manifest || path.canonicalize().is_ok_and(|path| real.as_ref() == Some(&path));
    let of_crate = |message: &Message| {
        message.reason == "compiler-artifact" && message.manifest_path.as_deref().is_some_and(same)
    };
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    messages
        .filter(of_crate)
        .flat_map(|message| message.filenames)
        .find(|path| path.extension().is_some_and(|extension| extension == "wasm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_component_is_the_crate_s_own() {
        let messages = r#"
            {"reason":"compiler-artifact","manifest_path":"/x/dep/Cargo.toml","filenames":["/t/dep.wasm"]}
            {"reason":"build-script-executed","out_dir":"/t"}
            {"reason":"compiler-artifact","manifest_path":"/x/my/Cargo.toml","filenames":["/t/libmy.rlib","/t/my.wasm"]}
            {"reason":"build-finished","success":true}
            no JSON"#;
        assert_eq!(component(messages, Path::new("/x/my/Cargo.toml")), Some("/t/my.wasm".into()));
        assert_eq!(component("", Path::new("/x/my/Cargo.toml")), None);
    }

    #[test]
    fn the_sdk_asks_for_the_rust_that_is_looked_for() {
        let (major, minor) = RUST.least;
        assert_eq!(env!("CARGO_PKG_RUST_VERSION"), format!("{major}.{minor}"));
    }
}
