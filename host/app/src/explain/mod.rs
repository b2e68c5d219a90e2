//! `machinist explain machine/NAME`: where a Machine is in its life, why it waits, since when, and which step follows.
//!
//! | module | what it does |
//! | --- | --- |
//! | `gather` | reads the objects, and asks the leader |
//! | `chain` | facts to an explanation |
//! | `next` | the next step, and its latest time |
//! | `print` | the explanation as text |

mod chain;
mod gather;
mod next;
mod print;

use jiff::Timestamp;

pub(crate) use next::short;

use crate::args::invocation_name::InvocationName;
use crate::args::{ExplainFlags, Output};
use crate::cluster::subject;

pub(crate) async fn explain(flags: ExplainFlags, invoked_as: InvocationName) -> anyhow::Result<()> {
    let name = subject::machine(&flags.subject, invoked_as.program())?;
    let facts = gather::gather(&flags, &name).await?;
    let explanation = chain::explain(&facts, Timestamp::now());
    match flags.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&explanation)?),
        Output::Table => print!("{}", print::text(&explanation, Timestamp::now())),
    }
    Ok(())
}
