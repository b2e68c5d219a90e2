//! Kubeconfigs as kubectl reads them: one file or several, with a context by name.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use machinist_runtime::client::clusters::from_kubeconfig;

/// Reads what KUBECONFIG may hold too: several files, of which the first that names something counts.
pub(super) fn read(paths: &Path, context: Option<&str>) -> Result<Config> {
    let kubeconfig = merged(paths)?;
    if let Some(wanted) = context {
        let names: Vec<&str> = kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect();
        if !names.contains(&wanted) {
            bail!("kubeconfig {} has no context {wanted}: it has {}", paths.display(), names.join(", "));
        }
    }
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    from_kubeconfig(&kubeconfig, &options)
        .with_context(|| format!("failed to use kubeconfig {}", paths.display()))
}

fn merged(paths: &Path) -> Result<Kubeconfig> {
    let all: Vec<PathBuf> =
        std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()).collect();
    // Those that are not there are passed over, as kubectl does.
    let there: Vec<&PathBuf> = all.iter().filter(|path| path.exists()).collect();
    let mut merged: Option<Kubeconfig> = None;
    for path in there {
        let failed = || format!("failed to read kubeconfig {}", path.display());
        let one = Kubeconfig::read_from(path).with_context(failed)?;
        merged = Some(match merged {
            None => one,
            Some(earlier) => earlier.merge(one).with_context(failed)?,
        });
    }
    merged.with_context(|| {
        format!(
            "there is no kubeconfig at {}: set KUBECONFIG or --kubeconfig to a file that is there",
            paths.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, name: &str, namespace: &str) -> PathBuf {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {name}\n\
             clusters: [{{name: {name}, cluster: {{server: 'http://127.0.0.1:1'}}}}]\n\
             users: [{{name: {name}, user: {{}}}}]\n\
             contexts: [{{name: {name}, context: {{cluster: {name}, user: {name}, namespace: {namespace}}}}}]\n"
        );
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn several_files_are_one_and_a_context_brings_its_namespace() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (written(folder.path(), "one", "first"), written(folder.path(), "two", "second"));
        let both = std::env::join_paths([folder.path().join("absent"), one.clone(), two]).unwrap();
        let both = PathBuf::from(both);
        assert_eq!(read(&both, None).unwrap().default_namespace, "first");
        assert_eq!(read(&both, Some("two")).unwrap().default_namespace, "second");
        let error = read(&one, Some("two")).unwrap_err().to_string();
        assert!(error.contains("has no context two: it has one"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = read(Path::new("/does/not/exist"), None).unwrap_err().to_string();
        assert!(error.contains("/does/not/exist"), "{error}");
        let error = read(Path::new("/does/not/exist:/neither"), None).unwrap_err().to_string();
        assert!(error.contains("no kubeconfig at /does/not/exist:/neither"), "{error}");
    }
}
