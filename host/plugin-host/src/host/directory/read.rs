//! Reads one plugin of the directory, as if it stood in a ConfigMap.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::scan::{self, alone};
use crate::sources::Contract;
use crate::sources::configmap::RawConfigMap;
use crate::sources::encoding::MOST_PACKED_BYTES;
use crate::sources::keys::PluginKeys;
use crate::sources::{DIRECTORY, Encoding, Packed};

/// As much as a ConfigMap could hold.
const MOST_TEXT_BYTES: usize = 1 << 20;

const TEXTS: [&str; 10] = [
    PluginKeys::SETTINGS,
    PluginKeys::GRANTS_YAML,
    PluginKeys::GRANTS_JSON,
    PluginKeys::ROLLOUT_YAML,
    PluginKeys::TERMS_YAML,
    PluginKeys::TERMS_JSON,
    PluginKeys::SHA256,
    PluginKeys::SIGNATURE,
    PluginKeys::BUNDLE,
    PluginKeys::BUNDLE_SIGNATURE,
];

/// A problem of a plugin in the directory.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Scan(#[from] scan::Error),
    #[error("there is both {} and {}: keep one of them", first.display(), second.display())]
    Both { first: PathBuf, second: PathBuf },
    #[error(
        "no component: neither plugin.wasm nor plugin.wasm.gz nor plugin.wasm.zst lies in the folder {}",
        folder.display()
    )]
    NoComponent { folder: PathBuf },
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is no file", path.display())]
    NoFile { path: PathBuf },
    #[error("{} leads out of the directory of the plugins: put the file itself there", path.display())]
    Outside { path: PathBuf },
    #[error("{} has more than the {most} bytes that it may have", path.display())]
    TooLarge { path: PathBuf, most: usize },
    #[error("{} is not text in UTF-8", path.display())]
    NoText { path: PathBuf },
    #[error(
        "{} means nothing here: put the component itself into the folder, or the reference into a ConfigMap",
        path.display()
    )]
    Elsewhere { path: PathBuf },
}

impl Error {
    /// True for a failure that may pass without a change of a file.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Scan(_) | Self::Read { .. } => true,
            Self::Both { .. }
            | Self::NoComponent { .. }
            | Self::NoFile { .. }
            | Self::Outside { .. }
            | Self::TooLarge { .. }
            | Self::NoText { .. }
            | Self::Elsewhere { .. } => false,
        }
    }
}

/// The plugin of this name. Reads megabytes: not on a thread that others wait for.
pub(super) fn read(root: &Path, name: &str) -> Result<RawConfigMap, Error> {
    let files = Files { root };
    let (folder, mut whole) = (Path::new(name), Vec::new());
    for file in scan::plugin(root, name).0.into_keys() {
        if let Some((_, encoding)) =
            file.to_str().and_then(alone).filter(|_| file.parent() == Some(Path::new("")))
        {
            whole.push((file, encoding));
        }
    }
    let is_folder = fs::metadata(root.join(folder)).is_ok_and(|metadata| metadata.is_dir());
    if let [(first, _), rest @ ..] = whole.as_slice() {
        let second = rest.first().map(|(second, _)| second.as_path()).or(is_folder.then_some(folder));
        if let Some(second) = second {
            return Err(Error::Both { first: first.clone(), second: second.to_owned() });
        }
    }
    let mut raw =
        RawConfigMap { namespace: DIRECTORY.to_owned(), name: name.to_owned(), ..RawConfigMap::default() };
    if let Some((file, encoding)) = whole.pop() {
        let bytes = files.component(&file)?;
        raw.binary_data.insert(encoding.key().to_owned(), bytes);
    } else {
        files.folder(folder, &mut raw)?;
    }
    raw.labels = BTreeMap::from([(PluginKeys::KIND_LABEL.to_owned(), contract(&raw).label().to_owned())]);
    Ok(raw)
}

/// Returns the contract that the component's exports belong to. A component that cannot be unpacked is refused later.
fn contract(raw: &RawConfigMap) -> Contract {
    let packed = Encoding::ALL.into_iter().find_map(|encoding| {
        let bytes = raw.binary_data.get(encoding.key())?;
        Packed::whole(encoding, bytes.clone()).unpack().ok()
    });
    packed.map_or(Contract::Driver, |bytes| Contract::of(&bytes))
}

struct Files<'a> {
    root: &'a Path,
}

impl Files<'_> {
    fn folder(&self, folder: &Path, raw: &mut RawConfigMap) -> Result<(), Error> {
        let name = folder.to_str().unwrap_or_default();
        for file in scan::files(self.root, name)? {
            let path = folder.join(&file);
            if Encoding::ALL.into_iter().any(|encoding| encoding.key() == file) {
                raw.binary_data.insert(file, self.component(&path)?);
            } else if TEXTS.contains(&file.as_str()) {
                let text = self.text(&path)?;
                raw.data.insert(file, text);
            } else if [PluginKeys::INDEX_KEY, PluginKeys::OCI_KEY].contains(&file.as_str()) {
                return Err(Error::Elsewhere { path });
            } else {
                // Only the existence of the file is reported, not its content.
                raw.data.insert(file, String::new());
            }
        }
        if raw.binary_data.is_empty() {
            return Err(Error::NoComponent { folder: folder.to_owned() });
        }
        Ok(())
    }

    fn component(&self, path: &Path) -> Result<Bytes, Error> {
        self.bytes(path, MOST_PACKED_BYTES).map(Bytes::from)
    }

    fn text(&self, path: &Path) -> Result<String, Error> {
        let text = String::from_utf8(self.bytes(path, MOST_TEXT_BYTES)?);
        let text = text.map_err(|_| Error::NoText { path: path.to_owned() })?;
        let is_word = [PluginKeys::SHA256, PluginKeys::SIGNATURE, PluginKeys::BUNDLE_SIGNATURE]
            .iter()
            .any(|word| path.ends_with(word));
        // As `sha256sum` and `cosign` write them: with the file's name behind, or the end of the line.
        Ok(if is_word { text.split_whitespace().next().unwrap_or_default().to_owned() } else { text })
    }

    fn bytes(&self, path: &Path, most: usize) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let real = self.root.join(path).canonicalize().map_err(failed)?;
        if !real.starts_with(self.root.canonicalize().map_err(failed)?) {
            return Err(Error::Outside { path: path.to_owned() });
        }
        // Opening something else than a file may wait for ever.
        let metadata = fs::metadata(&real).map_err(failed)?;
        if !metadata.is_file() {
            return Err(Error::NoFile { path: path.to_owned() });
        }
        let too_large = || Error::TooLarge { path: path.to_owned(), most };
        if usize::try_from(metadata.len()).map_or(true, |bytes| bytes > most) {
            return Err(too_large());
        }
        let one_more = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        File::open(&real).and_then(|file| file.take(one_more).read_to_end(&mut bytes)).map_err(failed)?;
        if bytes.len() > most {
            return Err(too_large());
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn check(prepare: impl FnOnce(&Path) -> io::Result<()>, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("plugins");
        fs::create_dir(&root).unwrap();
        prepare(&root).unwrap();
        let message = match read(&root, "sim") {
            Ok(raw) => {
                let keys: Vec<&String> = raw.data.keys().chain(raw.binary_data.keys()).collect();
                format!("{:?} {:?}", raw.labels.values().collect::<Vec<_>>(), keys)
            }
            Err(error) => machinist_core::value::error_chain::chain(&error),
        };
        assert_eq!(message.replace(&*root.to_string_lossy(), "DIR"), expected);
    }

    fn folder(root: &Path) -> io::Result<PathBuf> {
        fs::create_dir(root.join("sim"))?;
        fs::write(root.join("sim/plugin.wasm"), b"\0asm")?;
        Ok(root.join("sim"))
    }

    #[test]
    fn a_file_alone_and_a_folder_are_plugins() {
        check(|root| fs::write(root.join("sim.wasm"), b"\0asm"), r#"["driver"] ["plugin.wasm"]"#);
        check(|root| fs::write(root.join("sim.wasm.zst"), b"odd"), r#"["driver"] ["plugin.wasm.zst"]"#);
        let all = |root: &Path| {
            let folder = folder(root)?;
            fs::write(folder.join("grants.yaml"), "{}")?;
            fs::write(folder.join(".hidden"), "")?;
            fs::write(folder.join("README"), "")
        };
        check(all, r#"["driver"] ["README", "grants.yaml", "plugin.wasm"]"#);
    }

    #[test]
    fn a_mounted_configmap_is_a_plugins_folder() {
        let mounted = |root: &Path| {
            fs::create_dir_all(root.join("sim/..2026"))?;
            fs::write(root.join("sim/..2026/plugin.wasm"), b"\0asm")?;
            symlink("..2026", root.join("sim/..data"))?;
            symlink("..data/plugin.wasm", root.join("sim/plugin.wasm"))
        };
        check(mounted, r#"["driver"] ["plugin.wasm"]"#);
    }

    #[test]
    fn digests_are_read_as_sha256sum_writes_them() {
        let folder = tempfile::tempdir().unwrap();
        let digest = "a".repeat(64);
        let at = super::tests::folder(folder.path()).unwrap();
        fs::write(at.join("sha256"), format!("{digest}  plugin.wasm\n")).unwrap();
        assert_eq!(read(folder.path(), "sim").unwrap().data["sha256"], digest);
    }

    #[test]
    fn problems_are_named() {
        check(
            |root| {
                folder(root)?;
                fs::write(root.join("sim.wasm"), b"\0asm")
            },
            "there is both sim.wasm and sim: keep one of them",
        );
        check(
            |root| {
                fs::write(root.join("sim.wasm"), b"\0asm")?;
                fs::write(root.join("sim.wasm.gz"), b"\0asm")
            },
            "there is both sim.wasm and sim.wasm.gz: keep one of them",
        );
        check(
            |root| fs::create_dir(root.join("sim")),
            "no component: neither plugin.wasm nor plugin.wasm.gz nor plugin.wasm.zst lies in the folder sim",
        );
        check(|root| fs::create_dir(root.join("sim.wasm")), "sim.wasm is no file");
        check(|root| fs::create_dir_all(root.join("sim/plugin.wasm")), "sim/plugin.wasm is no file");
        check(
            |root| {
                fs::write(root.join("../secret.wasm"), b"\0asm")?;
                symlink("../secret.wasm", root.join("sim.wasm"))
            },
            "sim.wasm leads out of the directory of the plugins: put the file itself there",
        );
        check(
            |root| symlink("nowhere", root.join("sim.wasm")),
            "failed to read sim.wasm: No such file or directory (os error 2)",
        );
        check(
            |root| {
                let folder = folder(root)?;
                fs::write(folder.join("settings.json"), vec![b' '; MOST_TEXT_BYTES + 1])
            },
            "sim/settings.json has more than the 1048576 bytes that it may have",
        );
        check(
            |root| File::create(root.join("sim.wasm"))?.set_len(1 << 40),
            "sim.wasm has more than the 33554432 bytes that it may have",
        );
        check(
            |root| {
                let folder = folder(root)?;
                fs::write(folder.join("grants.yaml"), [0xff])
            },
            "sim/grants.yaml is not text in UTF-8",
        );
        check(
            |root| {
                let folder = folder(root)?;
                fs::write(folder.join("oci"), "registry.example/sim:1")
            },
            "sim/oci means nothing here: put the component itself into the folder, or the reference into a ConfigMap",
        );
    }
}
