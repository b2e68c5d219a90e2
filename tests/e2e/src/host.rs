//! The host as a process, as its users run it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use control_plane::end_with_this_thread;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::metrics::Metrics;
use crate::wait::within;

/// How a host is started.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// Kubeconfig of its account.
    pub kubeconfig: PathBuf,
    /// Compiled plugins are kept here.
    pub cache: PathBuf,
    /// Its log goes here.
    pub log: PathBuf,
    pub flags: Vec<String>,
}

impl HostOptions {
    /// With the log that a user has, not the one that helps with tests.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        for pair in self.flags.windows(2).map(<[String]>::to_vec).collect::<Vec<_>>() {
            if let [flag, level] = pair.as_slice()
                && flag == "--log"
            {
                self.flags.retain(|one| one != flag && one != level);
            }
        }
        self.flags.extend(["--log".into(), "info".into()]);
        self
    }

    /// With these flags too.
    #[must_use]
    pub fn with(mut self, flags: &[impl AsRef<str>]) -> Self {
        self.flags.extend(flags.iter().map(|flag| flag.as_ref().to_owned()));
        self
    }
}

/// A running host. Killed when it is dropped.
#[derive(Debug)]
pub struct Host {
    child: Child,
    port: u16,
    log: PathBuf,
}

/// The executable `machinist` of this build.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("MACHINIST_BIN") {
        return Ok(path.into());
    }
    let beside =
        std::env::current_exe().context("failed to find this executable")?.with_file_name("machinist");
    if beside.is_file() {
        return Ok(beside);
    }
    // Tests run from the build folder; what they test lies in the target folder.
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from);
    let path = target.join(if cfg!(debug_assertions) { "debug" } else { "release" }).join("machinist");
    ensure!(path.is_file(), "{} is not there: cargo build -p machinist", path.display());
    Ok(path)
}

impl Host {
    /// Starts it. It is not ready yet. It is killed when the calling thread ends, however that ends.
    pub fn start(options: &HostOptions) -> Result<Self> {
        let mut command = Command::new(binary()?);
        command
            .arg("run")
            .arg("--target-kubeconfig")
            .arg(&options.kubeconfig)
            .arg("--cache-dir")
            .arg(&options.cache);
        Self::spawn(command, options)
    }

    /// Starts it and waits until it is ready.
    pub async fn start_ready(options: &HostOptions) -> Result<Self> {
        let mut host = Self::start(options)?;
        host.ready().await?;
        Ok(host)
    }

    /// As [`Host::start`], by another name, as through a symbolic link: without a subcommand, and with no flags but
    /// those of the options and where to listen.
    pub fn start_as(name: &str, options: &HostOptions) -> Result<Self> {
        let link = options.log.with_file_name(name);
        if !link.exists() {
            std::os::unix::fs::symlink(binary()?, &link).context("failed to link the host")?;
        }
        Self::spawn(Command::new(link), options)
    }

    fn spawn(mut command: Command, options: &HostOptions) -> Result<Self> {
        let port = control_plane::free_port()?;
        let log = File::options()
            .create(true)
            .append(true)
            .open(&options.log)
            .context("failed to open the host's log")?;
        command
            .args(["--address", "127.0.0.1", "--port", &port.to_string()])
            .args(&options.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        end_with_this_thread(&mut command);
        let child = command.spawn().context("failed to start the host")?;
        Ok(Self { child, port, log: options.log.clone() })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until `/readyz` says so. When the host has ended instead, the end of its log is the complaint.
    pub async fn ready(&mut self) -> Result<()> {
        let url = format!("{}/readyz", self.url());
        let http = http()?;
        let outcome = within(Duration::from_secs(60), "the host is ready", async || {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(Err(status)));
            }
            let answer = http.get(&url).send().await?;
            Ok(answer.status().is_success().then_some(Ok(())))
        })
        .await;
        match outcome {
            Ok(Ok(())) => Ok(()),
            Ok(Err(status)) => bail!("the host ended with {status}:\n{}", self.log_end()),
            Err(error) => Err(error.context(format!("the host's log ends with:\n{}", self.log_end()))),
        }
    }

    pub async fn metrics(&self) -> Result<Metrics> {
        let text =
            http()?.get(format!("{}/metrics", self.url())).send().await?.error_for_status()?.text().await?;
        Ok(Metrics::parse(&text))
    }

    /// The text of one of its pages.
    pub async fn page(&self, path: &str) -> Result<String> {
        Ok(http()?.get(format!("{}{path}", self.url())).send().await?.error_for_status()?.text().await?)
    }

    pub fn kill(mut self) {
        self.end();
    }

    /// SIGTERM, and how it ended.
    pub async fn terminate(mut self) -> Result<ExitStatus> {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).context("a strange process id")?);
        kill(pid, Signal::SIGTERM).context("failed to signal the host")?;
        within(Duration::from_secs(30), "the host ends after SIGTERM", async || Ok(self.child.try_wait()?))
            .await
    }

    /// True while it runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Lines of its log with this level, such as `ERROR`.
    pub fn log_lines(&self, level: &str) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let is_it = |line: &&str| line.split_whitespace().nth(1) == Some(level);
        text.lines().filter(is_it).map(str::to_owned).collect()
    }

    /// The last lines of its log.
    pub fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.split_at(lines.len().saturating_sub(30)).1.join("\n")
    }

    fn end(&mut self) {
        // Fails only when it has ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.end();
    }
}

fn http() -> Result<reqwest::Client> {
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(10))
        .build()
        .context("failed to make an HTTP client")
}
