//! Reads tokens that are mounted into the host's container, and no other file there.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use zeroize::Zeroizing;

/// A token of Kubernetes has about 1 KiB; STS takes 20,000 characters.
const MOST_BYTES: u64 = 20 * 1024;

/// The reason why there is no token. The texts name no path: it is a value of the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenFileError {
    #[error("is no absolute path without dot segments: correct it in the Secret")]
    NotAPath,
    #[error(
        "leads outside of the folders that token-files of the plugin's grants name: mount it there, or grant its folder"
    )]
    Outside,
    #[error(
        "leads to a file that does not exist in the host's container: mount the token there, or correct the path"
    )]
    Missing,
    #[error("leads to something that the host may not read: correct the mount's rights")]
    Unreadable,
    #[error("leads to something that is no regular file: correct the path")]
    NotAFile,
    #[error("leads to a file that is empty: wait until the token is written, or correct the path")]
    Empty,
    #[error("leads to a file that is no token: it is too large, or has other characters")]
    NotAToken,
}

/// A folder, as an absolute path without dot segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePrefix(PathBuf);

impl FilePrefix {
    /// The error says how to correct the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = Path::new(text);
        if !is_normal_path(text.strip_suffix('/').unwrap_or(text)) {
            return Err(format!("{text:?} is no folder: write an absolute path without dot segments"));
        }
        if path.components().count() < 2 {
            return Err("/ is too wide: name the folder that the tokens are mounted in".to_owned());
        }
        Ok(Self(path.components().collect()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether the file lies below, judged by the text of its path alone.
    pub(crate) fn covers(&self, file: &Path) -> bool {
        file.starts_with(&self.0) && file != self.0
    }
}

/// Whether a text is an absolute path that all readers understand in the same way.
fn is_normal_path(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return false };
    !text.contains('\0')
        && rest.split('/').all(|segment| !segment.is_empty() && segment != ".")
        && Path::new(text).components().skip(1).all(|part| matches!(part, Component::Normal(_)))
}

/// Returns the token, without blanks around it. The path must lie below a granted folder as it is written, and also
/// after all symbolic links are followed: the links that Kubernetes makes in its volumes stay inside.
pub(crate) fn read(path: &str, folders: &[FilePrefix]) -> Result<Zeroizing<String>, TokenFileError> {
    if !is_normal_path(path) {
        return Err(TokenFileError::NotAPath);
    }
    let path = Path::new(path);
    if !folders.iter().any(|folder| folder.covers(path)) {
        return Err(TokenFileError::Outside);
    }
    match read_real(path, folders) {
        // Kubernetes replaces the folder behind its link at each renewal; the second attempt finds the new one.
        Err(TokenFileError::Missing) => read_real(path, folders),
        other => other,
    }
}

fn read_real(path: &Path, folders: &[FilePrefix]) -> Result<Zeroizing<String>, TokenFileError> {
    let real = path.canonicalize().map_err(|error| reason(&error))?;
    if !folders.iter().filter_map(real_folder).any(|folder| real.starts_with(&folder) && real != folder) {
        return Err(TokenFileError::Outside);
    }
    // Checked before the file is opened: to open a pipe would wait for a writer.
    if !fs::metadata(&real).map_err(|error| reason(&error))?.is_file() {
        return Err(TokenFileError::NotAFile);
    }
    let file = File::open(&real).map_err(|error| reason(&error))?;
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    token(&bytes)
}

/// Granted folders are often links themselves, such as `/var/run`.
fn real_folder(folder: &FilePrefix) -> Option<PathBuf> {
    folder.path().canonicalize().ok()
}

fn token(bytes: &[u8]) -> Result<Zeroizing<String>, TokenFileError> {
    if bytes.len() as u64 > MOST_BYTES {
        return Err(TokenFileError::NotAToken);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| TokenFileError::NotAToken)?.trim();
    if text.is_empty() {
        return Err(TokenFileError::Empty);
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenFileError::NotAToken);
    }
    Ok(Zeroizing::new(text.to_owned()))
}

fn reason(error: &io::Error) -> TokenFileError {
    match error.kind() {
        io::ErrorKind::NotFound => TokenFileError::Missing,
        _ => TokenFileError::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Mount {
        folder: tempfile::TempDir,
        granted: [FilePrefix; 1],
    }

    impl Mount {
        /// A token as Kubernetes projects it: `token` → `..data/token`, `..data` → `..2026`.
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            fs::create_dir_all(root.join("granted/aws/..2026")).unwrap();
            fs::write(root.join("granted/aws/..2026/token"), "the.token\n").unwrap();
            symlink("..2026", root.join("granted/aws/..data")).unwrap();
            symlink("..data/token", root.join("granted/aws/token")).unwrap();
            fs::write(root.join("outside"), "secret").unwrap();
            let granted = [FilePrefix::parse(root.join("granted").to_str().unwrap()).unwrap()];
            Self { folder, granted }
        }

        fn path(&self, name: &str) -> String {
            self.folder.path().join(name).to_str().unwrap().to_owned()
        }

        fn read(&self, name: &str) -> Result<String, TokenFileError> {
            read(&self.path(name), &self.granted).map(|token| token.to_string())
        }
    }

    #[test]
    fn a_token_is_read_through_the_links_of_kubernetes() {
        assert_eq!(Mount::new().read("granted/aws/token").as_deref(), Ok("the.token"));
    }

    #[test]
    fn a_granted_folder_may_be_a_link() {
        let mount = Mount::new();
        symlink("granted", mount.path("linked")).unwrap();
        let linked = [FilePrefix::parse(&mount.path("linked")).unwrap()];
        let token = read(&mount.path("linked/aws/token"), &linked).map(|token| token.to_string());
        assert_eq!(token.as_deref(), Ok("the.token"));
    }

    #[test]
    fn no_path_and_no_link_leads_out() {
        let mount = Mount::new();
        symlink(mount.path("outside"), mount.path("granted/escape")).unwrap();
        symlink("../..", mount.path("granted/aws/up")).unwrap();
        symlink(mount.path("granted"), mount.path("granted-not")).unwrap();
        assert_eq!(mount.read("granted/escape"), Err(TokenFileError::Outside));
        assert_eq!(mount.read("granted/aws/up/outside"), Err(TokenFileError::Outside));
        assert_eq!(mount.read("outside"), Err(TokenFileError::Outside));
        assert_eq!(mount.read("granted-not/aws/token"), Err(TokenFileError::Outside));
        assert_eq!(mount.read("granted/../outside"), Err(TokenFileError::NotAPath));
        assert_eq!(mount.read("granted//aws/token"), Err(TokenFileError::NotAPath));
        assert_eq!(read("granted/aws/token", &mount.granted).err(), Some(TokenFileError::NotAPath));
        assert_eq!(read("/etc/passwd", &mount.granted).err(), Some(TokenFileError::Outside));
    }

    #[test]
    fn a_file_without_a_token_is_refused_with_the_reason() {
        let mount = Mount::new();
        let write = |name: &str, bytes: &[u8]| fs::write(mount.path(name), bytes).unwrap();
        write("granted/empty", b" \n");
        write("granted/binary", b"\xff\xfe");
        write("granted/lines", b"one\ntwo");
        write("granted/huge", &[b'x'; 30_000]);
        assert_eq!(mount.read("granted/empty"), Err(TokenFileError::Empty));
        assert_eq!(mount.read("granted/binary"), Err(TokenFileError::NotAToken));
        assert_eq!(mount.read("granted/lines"), Err(TokenFileError::NotAToken));
        assert_eq!(mount.read("granted/huge"), Err(TokenFileError::NotAToken));
        assert_eq!(mount.read("granted/absent"), Err(TokenFileError::Missing));
        assert_eq!(mount.read("granted/aws"), Err(TokenFileError::NotAFile));
        symlink("loop", mount.path("granted/loop")).unwrap();
        assert_eq!(mount.read("granted/loop"), Err(TokenFileError::Unreadable));
    }
}
