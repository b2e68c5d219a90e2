//! `machinist driver`: new projects, their components, tests and replays.
//!
//! | module | what it does |
//! | --- | --- |
//! | `test` | runs the conformance kit on a component |
//! | `replay` | plays recordings to a component, and prints the differences |

pub(crate) mod replay;
mod test;

use anyhow::Context as _;
use machinist_author::sdk::Sdk;
use machinist_author::{build, template};
use machinist_plugin_host::Inspected;

use crate::args::{BuildFlags, DriverCommand, NewFlags};
use crate::plugin::file::{Texts, accepted, declared_in, inspect_in_sandbox};

pub(crate) async fn driver(command: DriverCommand) -> anyhow::Result<()> {
    match command {
        DriverCommand::New(flags) => new(&flags),
        DriverCommand::Build(flags) => make(&flags).await,
        DriverCommand::Replay(flags) => replay::replay(flags).await,
        DriverCommand::Test(flags) => test::test(*flags).await,
    }
}

fn new(flags: &NewFlags) -> anyhow::Result<()> {
    let NewFlags { lang, name, path, provider, sdk } = flags;
    let sdk = match sdk {
        Some(text) => Sdk::parse(text, *lang)?,
        None => Sdk::Published,
    };
    // `.` is where one is: the name alone says it.
    let folder = if path.as_os_str() == "." { name.as_str().into() } else { path.join(name.as_str()) };
    let provider = provider.clone().unwrap_or_else(|| name.provider());
    let files = template::files(*lang, name, &provider, &sdk);
    template::write(&folder, &files)?;
    println!("made {} with {} files, a driver in {lang}. Next:\n", folder.display(), files.len());
    println!("cd {}\n{}", folder.display(), template::steps(*lang, name));
    if let Some(note) = sdk.note(*lang) {
        println!("\nNote: {note}.");
    }
    Ok(())
}

async fn make(flags: &BuildFlags) -> anyhow::Result<()> {
    let made = build::build(&flags.folder, flags.output.as_deref())
        .with_context(|| format!("failed to build {}", flags.folder.display()))?;
    let inspected = inspect_in_sandbox(declared_in(&made, &Texts::default())?).await?;
    println!("{}: {}", made.display(), facts(&inspected));
    accepted(&inspected)
}

/// Returns name, version, size and digest in one line.
fn facts(inspected: &Inspected) -> String {
    let who = match (&inspected.about, &inspected.policy) {
        (Some(about), _) => format!("driver {} {}, ", about.name, about.version),
        (None, Some(policy)) => format!("health policy {} {}, ", policy.name, policy.version),
        (None, None) => String::new(),
    };
    let bytes = inspected.size_bytes.map(|bytes| format!("{bytes} bytes, ")).unwrap_or_default();
    let digest = inspected.digest.map(|digest| digest.to_string()).unwrap_or_default();
    format!("{who}{bytes}{digest}")
}
