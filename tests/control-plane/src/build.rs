//! The binary with the four programs, and the kubelet.

use std::path::{Path, PathBuf};

use crate::go::GoModule;

/// The version that the programs report. It is the one of `k8s.io/kubernetes` in `go.mod`; clients refuse a server
/// whose version is not semantic, and an unstamped build says `v0.0.0-master`.
pub const KUBERNETES_VERSION: &str = "v1.36.4";
/// The day of that release, so that one state of the sources gives one binary.
const BUILD_DATE: &str = "2026-08-20T11:51:43Z";
/// Go's module proxy does not tell the commit of a version.
const GIT_COMMIT: &str = "unknown";

/// The Go module's folder.
fn module() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The path of the built binary; see [`GoModule::built`].
pub fn binary() -> anyhow::Result<PathBuf> {
    let module = GoModule {
        folder: module(),
        name: "control-plane",
        what: "the control plane for demo and tests (6 to 7 minutes the first time)",
        programs: &[("control-plane", ".")],
        folders: &[],
        linker_flags: &linker_flags(),
    };
    Ok(module.built()?.join("control-plane"))
}

/// The path of the kubelet, which is built when somebody needs it first; see [`GoModule::built`] and
/// [`crate::Kubelet`].
pub fn kubelet() -> anyhow::Result<PathBuf> {
    let module = GoModule {
        folder: module(),
        name: "kubelet",
        what: "the kubelet for demo and tests (about 5 minutes the first time)",
        programs: &[("kubelet", "./kubelet")],
        folders: &[],
        linker_flags: &linker_flags(),
    };
    Ok(module.built()?.join("kubelet"))
}

/// Version stamps for both places that report one, and no symbol table: the binary is for running.
fn linker_flags() -> String {
    let number = KUBERNETES_VERSION.trim_start_matches('v');
    let mut parts = number.split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let stamps = [
        ("gitVersion", KUBERNETES_VERSION),
        ("gitMajor", major),
        ("gitMinor", minor),
        ("gitCommit", GIT_COMMIT),
        ("gitTreeState", "archive"),
        ("buildDate", BUILD_DATE),
    ];
    let mut flags = "-s -w".to_owned();
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        for (name, value) in stamps {
            flags.push_str(&format!(" -X {package}.{name}={value}"));
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_stamped_version_is_the_one_in_go_mod() {
        let go_mod = fs::read_to_string(module().join("go.mod")).unwrap();
        let wanted = format!("k8s.io/kubernetes {KUBERNETES_VERSION}");
        assert!(go_mod.lines().any(|line| line.trim() == wanted), "go.mod does not say {wanted}");
        let staging = KUBERNETES_VERSION.replacen("v1.", "v0.", 1);
        let published = go_mod.lines().filter(|line| line.contains(" => k8s.io/"));
        assert!(published.clone().count() > 30);
        for line in published {
            assert!(line.ends_with(&staging), "{line} is not of {KUBERNETES_VERSION}");
        }
    }
}
