//! Prints the violations of the checks that have lists, and rewrites the lists.

use std::fs;
use std::io::{ErrorKind, Write as _};

use anyhow::{Context, Result, bail};
use tidy::checks::{ALL, Check};
use tidy::not_yet::{self, Allowed, Finding};
use tidy::tree::{self, File};

const USAGE: &str = "\
Usage: cargo run -p tidy -- COMMAND

  --list [CHECK]              print all violations, also those that the lists allow
  --write-not-yet             take out of the lists what is fixed; no line is added
  --write-not-yet --with-new  rewrite the lists, with new violations too: after a merge, or when files have moved
";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let files = tree::files()?;
    match arguments[..] {
        ["--list"] => print(&ALL, &files)?,
        ["--list", name] => print(&[named(name)?], &files)?,
        ["--write-not-yet"] => write(&files, not_yet::shortened)?,
        ["--write-not-yet", "--with-new"] => write(&files, |findings, _| not_yet::complete(findings))?,
        _ => bail!("{USAGE}"),
    }
    Ok(())
}

fn named(name: &str) -> Result<Check> {
    let names = ALL.map(|check| check.name).join(", ");
    ALL.into_iter().find(|check| check.name == name).with_context(|| format!("no check {name}: {names}"))
}

fn print(checks: &[Check], files: &[File]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for check in checks {
        let findings = (check.find)(files);
        writeln!(out, "# {}: {}", check.name, findings.iter().map(|finding| finding.count).sum::<usize>())?;
        for finding in findings {
            writeln!(out, "{}", finding.complaint)?;
        }
    }
    Ok(())
}

fn write(files: &[File], list: fn(&[Finding], &Allowed) -> Option<String>) -> Result<()> {
    fs::create_dir_all(tree::root().join(not_yet::FOLDER))
        .context("failed to make the folder of the lists")?;
    for check in ALL {
        let path = not_yet::path(check.name);
        let before = files.iter().find(|file| file.path == path).and_then(|file| file.text.as_deref());
        let after = list(&(check.find)(files), &not_yet::parse(before.unwrap_or_default()));
        let target = tree::root().join(&path);
        match after {
            Some(text) => fs::write(&target, text).with_context(|| format!("failed to write {path}"))?,
            None => match fs::remove_file(&target) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).context(format!("failed to remove {path}"));
                }
                _ => {}
            },
        }
    }
    Ok(())
}
