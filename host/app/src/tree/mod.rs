//! `machinist tree`: MachineDeployments with their sets and Machines, and those of Cluster API with their Clusters and
//! MachinistMachines.
//!
//! | module | what it does |
//! | --- | --- |
//! | `objects` | the objects of a namespace |
//! | `list` | lists them |
//! | `follow` | follows them by watches |
//! | `grow` | objects to trees |
//! | `model` | the trees, as `-o json` prints them |
//! | `pick` | which trees are shown |
//! | `print` | trees as text |

mod follow;
mod grow;
mod list;
mod model;
mod objects;
mod pick;
mod print;

#[cfg(test)]
mod tests;

use std::io::IsTerminal;

use anyhow::Result;
use jiff::Timestamp;

use crate::args::invocation_name::InvocationName;
use crate::args::{Output, TreeFlags};
use crate::cluster::reach;
use crate::output::flush;

use grow::grow;
use model::Forest;
use objects::Objects;
use pick::Subject;

pub(crate) async fn tree(flags: TreeFlags, invoked_as: InvocationName) -> Result<()> {
    let subject = Subject::parse(&flags.subject, invoked_as.program())?;
    let cluster = reach(&flags.place).await?;
    let shown = |objects: &Objects| pick::pick(grow(objects, &cluster.namespace), &subject);
    let objects = list::list(&cluster).await?;
    let mut last = shown(&objects)?;
    if !flags.watch {
        return print(&last, flags.output);
    }
    print_again(&last, flags.output)?;
    let mut follower = follow::follow(&cluster, &objects).await?;
    loop {
        // A shown object that is deleted ends the command with an error.
        let forest = shown(&follower.objects())?;
        if forest != last || is_terminal(flags.output) {
            print_again(&forest, flags.output)?;
            last = forest;
        }
        follower.changed().await?;
    }
}

/// Somebody reads the screen, where times go on.
fn is_terminal(output: Output) -> bool {
    output == Output::Table && std::io::stdout().is_terminal()
}

fn print(forest: &Forest, output: Output) -> Result<()> {
    let text = match output {
        Output::Json => serde_json::to_string_pretty(forest)? + "\n",
        Output::Table => print::text(forest, Timestamp::now()),
    };
    print!("{text}");
    Ok(())
}

/// A screen is wiped first; elsewhere a line is left free after it, and a program gets one line each time.
fn print_again(forest: &Forest, output: Output) -> Result<()> {
    const WIPE: &str = "\x1b[H\x1b[2J\x1b[3J";
    match output {
        Output::Json => println!("{}", serde_json::to_string(forest)?),
        Output::Table => {
            print!(
                "{}{}",
                if is_terminal(output) { WIPE } else { "" },
                print::text(forest, Timestamp::now())
            );
            if !is_terminal(output) {
                println!();
            }
        }
    }
    flush();
    Ok(())
}
