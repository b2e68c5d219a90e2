//! Completion: scripts for shells, and answers to kubectl, which calls `kubectl_complete-machinist`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `words` | which words may stand at a place of the command line |
//! | `names` | names of objects in the cluster |

mod names;
mod words;

use clap::Command;

use words::Completion;

/// cobra's directive: complete no names of files. Each answer to kubectl ends with a directive.
const NO_FILES: u8 = 4;

/// cobra's directive: names of files, since nothing better is known.
const FILES: u8 = 0;

/// Answers kubectl. `words`: all after `kubectl machinist`, the last of which is to be completed.
///
/// After an error the answer is empty: a shell cannot show errors.
pub(crate) async fn answer(command: Command, words: &[String]) {
    let mut command = command;
    command.build();
    let (lines, directive) = match words::completion(&command, words) {
        Completion::Words(words) => (words, NO_FILES),
        Completion::Files => (Vec::new(), FILES),
        Completion::Names(question) => (names::names(&question).await, NO_FILES),
    };
    for line in lines {
        println!("{line}");
    }
    println!(":{directive}");
}
