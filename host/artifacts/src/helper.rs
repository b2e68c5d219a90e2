//! Programs of docker that keep logins: `docker-credential-NAME get` reads a registry from its input and prints a
//! login.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use crate::login::Credentials;
use crate::reference::Reference;

/// A helper may log in at a cloud first, over the network.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A login has a few kilobytes at most.
const MOST_BYTES: u64 = 64 << 10;

/// Helpers print this when they have no login for a registry.
const NOT_FOUND: &str = "credentials not found";

/// A helper, and the registry that it is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Helper {
    program: String,
    server: String,
}

/// Why a helper gave no login. Never shows what it printed where it printed one.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The configuration names something else.
    #[error("{program:?} is no name of a helper")]
    Name {
        /// The text in its place.
        program: String,
    },
    /// It cannot be started or spoken to.
    #[error("failed to run {program}: is it installed, and in PATH?")]
    Run {
        program: String,
        #[source]
        source: io::Error,
    },
    /// It does not end.
    #[error("{program} has not answered within {} s", within.as_secs())]
    Slow { program: String, within: Duration },
    #[error("{program} has no login for {server}: {detail}")]
    Failed { program: String, server: String, detail: String },
    /// It has printed something else.
    #[error("{program} has printed no login: JSON with Username and Secret")]
    Answer { program: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

impl Helper {
    /// The helper of this name in docker's configuration, for this artifact.
    pub(crate) fn new(name: &str, reference: &Reference) -> Self {
        let server = match reference.host() {
            // The name by which docker has always stored it.
            "registry-1.docker.io" => "https://index.docker.io/v1/",
            host => host,
        };
        Self { program: format!("docker-credential-{name}"), server: server.to_owned() }
    }

    /// The program that is run.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The registry that it is asked about.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Runs it. `None` when it knows no login for this registry.
    ///
    /// # Errors
    /// When it cannot be run, fails, or does not end within half a minute.
    pub async fn ask(&self) -> Result<Option<Credentials>, HelperError> {
        self.ask_within(TIMEOUT).await
    }

    async fn ask_within(&self, within: Duration) -> Result<Option<Credentials>, HelperError> {
        let program = || self.program.clone();
        // A name, and no path to some other program.
        if !self.program.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
            return Err(HelperError::Name { program: program() });
        }
        let answered = tokio::time::timeout(within, self.run()).await;
        let (is_good, printed) = answered
            .map_err(|_| HelperError::Slow { program: program(), within })?
            .map_err(|source| HelperError::Run { program: program(), source })?;
        if is_good {
            let answer: Option<Answer> = serde_json::from_slice(&printed).ok();
            let answer = answer.ok_or_else(|| HelperError::Answer { program: program() })?;
            return Ok(Some(match answer.username.as_str() {
                "<token>" => Credentials::identity_token(answer.secret),
                _ => Credentials::password(answer.username, answer.secret),
            }));
        }
        let detail = String::from_utf8_lossy(&printed);
        if detail.contains(NOT_FOUND) {
            return Ok(None);
        }
        let detail = detail.chars().filter(|character| !character.is_control()).take(300).collect();
        Err(HelperError::Failed { program: program(), server: self.server.clone(), detail })
    }

    /// Whether it ended well, and what it printed.
    async fn run(&self) -> io::Result<(bool, Vec<u8>)> {
        let mut child = Command::new(&self.program)
            .arg("get")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            match stdin.write_all(self.server.as_bytes()).await {
                // One that reads nothing may answer all the same.
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
                Err(_) | Ok(()) => {}
            }
        }
        let mut printed = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout.take(MOST_BYTES).read_to_end(&mut printed).await?;
        }
        Ok((child.wait().await?.success(), printed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn helper(name: &str) -> Helper {
        Helper::new(name, &"ghcr.io/acme/sim:1".parse().expect("a reference"))
    }

    #[tokio::test]
    async fn a_helper_that_is_missing_is_named() {
        let error = helper("is-not-installed-here").ask().await.expect_err("it is missing");
        assert!(error.to_string().contains("docker-credential-is-not-installed-here"), "{error}");
    }

    #[tokio::test]
    async fn a_path_is_no_name_of_a_helper() {
        for name in ["../../tmp/x", "a b", "a/b", "$(x)"] {
            let error = helper(name).ask().await.expect_err("it is refused");
            assert!(matches!(error, HelperError::Name { .. }), "{error}");
        }
    }
}
