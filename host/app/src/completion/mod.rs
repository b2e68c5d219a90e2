//! Completion: scripts for shells, and answers to kubectl, which calls `kubectl_complete-machinist`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `words` | which words may stand at a place of the command line |
//! | `names` | names of objects in the cluster |

mod names;
mod words;

use clap::Command;

use words::Wanted;

/// cobra's directive: no names of files instead. What kubectl asks ends with a directive.
const NO_FILES: u8 = 4;

/// cobra's directive: names of files, since nothing better is known.
const FILES: u8 = 0;

/// Answers kubectl. `words`: all after `kubectl machinist`, the last of which is to be completed.
///
/// Whatever goes wrong, the answer is an empty one: a shell has no place for complaints.
pub(crate) async fn answer(command: Command, words: &[String]) {
    let mut command = command;
    command.build();
    let (lines, directive) = match words::wanted(&command, words) {
        Wanted::Words(words) => (words, NO_FILES),
        Wanted::Files => (Vec::new(), FILES),
        Wanted::Names(question) => (names::names(&question).await, NO_FILES),
    };
    for line in lines {
        println!("{line}");
    }
    println!(":{directive}");
}
