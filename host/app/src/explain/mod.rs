//! `machinist explain`: where a Machine or MachinistMachine is in its life, why it waits, since when, and which step
//! follows.
//!
//! | module | what it does |
//! | --- | --- |
//! | `find` | which object is meant |
//! | `machine` | a Machine of machine-controller-manager, from its class to its Node |
//! | `machinist_machine` | a MachinistMachine, from its Cluster of Cluster API to its Node |
//! | `read` | reads objects, and asks the leader |
//! | `explanation` | what is said of either, as `-o json` prints it |
//! | `links` | the parts of a chain that both have |
//! | `turn` | the next reconcile by the host |
//! | `print` | an explanation as text |

mod explanation;
mod find;
mod links;
mod machine;
mod machinist_machine;
mod print;
mod read;
mod turn;

use jiff::Timestamp;

pub(crate) use turn::short;

use crate::args::invocation_name::InvocationName;
use crate::args::{ExplainFlags, Output};
use crate::cluster::{reach, subject};
use explanation::Explanation;
use find::FoundObject;

pub(crate) async fn explain(flags: ExplainFlags, invoked_as: InvocationName) -> anyhow::Result<()> {
    let program = invoked_as.program();
    let object = subject::explained(&flags.subject, program)?;
    let cluster = reach(&flags.place).await?;
    let explanation = match find::find(&cluster, &object, program).await? {
        FoundObject::Machine(machine) => {
            let facts = machine::gather(&flags, &cluster, *machine).await?;
            machine::explain(&facts, Timestamp::now())
        }
        FoundObject::MachinistMachine(machine) => {
            let facts = machinist_machine::gather(&flags, &cluster, *machine).await?;
            machinist_machine::explain(&facts, Timestamp::now())
        }
    };
    print_as(&explanation, flags.output)
}

fn print_as(explanation: &Explanation, output: Output) -> anyhow::Result<()> {
    match output {
        Output::Json => println!("{}", serde_json::to_string_pretty(explanation)?),
        Output::Table => print!("{}", print::text(explanation, Timestamp::now())),
    }
    Ok(())
}
