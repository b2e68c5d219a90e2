//! `machinist tree`: deployments with their sets and Machines.
//!
//! | module | what it does |
//! | --- | --- |
//! | `follow` | follows a namespace by watches |
//! | `grow` | objects to trees |
//! | `model` | the trees, as `-o json` prints them |
//! | `pick` | which trees are shown |
//! | `print` | trees as text |

mod follow;
mod grow;
mod model;
mod pick;
mod print;

#[cfg(test)]
mod tests;

use std::io::IsTerminal;

use anyhow::Result;
use jiff::Timestamp;

use crate::args::invocation_name::InvocationName;
use crate::args::{Output, TreeFlags};
use crate::cluster::{Cluster, reach};
use crate::output::flush;

use grow::{Objects, grow};
use model::Forest;
use pick::Subject;

/// The rights that the command needs.
const RIGHTS: &str = "list (and for --watch watch) on machinedeployments, machinesets and machines";

pub(crate) async fn tree(flags: TreeFlags, invoked_as: InvocationName) -> Result<()> {
    let subject = Subject::parse(&flags.subject, invoked_as.program())?;
    let cluster = reach(&flags.place).await?;
    let shown = |objects: &Objects| pick::pick(grow(objects, &cluster.namespace), &subject);
    let mut last = shown(&gather(&cluster).await?)?;
    if !flags.watch {
        return print(&last, flags.output);
    }
    print_again(&last, flags.output)?;
    let mut follower = follow::follow(&cluster).await?;
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

/// All objects of the three kinds.
async fn gather(cluster: &Cluster) -> Result<Objects> {
    let (deployments, sets, machines) =
        tokio::try_join!(cluster.list(RIGHTS), cluster.list(RIGHTS), cluster.list(RIGHTS))?;
    Ok(Objects { deployments, sets, machines })
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
