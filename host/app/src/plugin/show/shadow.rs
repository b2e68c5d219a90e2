//! The calls of a shadow: in one sentence, and as `machinist plugin trial` prints them.

use std::fmt::Write as _;

use machinist_plugin_host::ShadowReport;
use machinist_plugin_host::status::{CallCounts, DifferenceExample, ShadowStatus, cut};

use crate::output;

/// Of one example in a sentence.
const MOST_CHARS_IN_SENTENCE: usize = 200;

/// How the calls compare, in one sentence; empty before the first.
pub(crate) fn summary(report: &ShadowReport) -> String {
    let CallCounts { same, differs, unread, broken, left_out } = report.totals();
    let compared = same + differs;
    if compared + unread + broken + left_out == 0 {
        return String::new();
    }
    let mut text = format!("; {differs} of {compared} calls would have been otherwise");
    let others = [
        (unread, "made reads that shadow-reads of its grants do not list"),
        (broken, "broke"),
        (left_out, "were left out"),
    ];
    for (count, what) in others {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    if let Some(last) = report.examples.last() {
        let lines = last.text.split('\n').map(str::trim).collect::<Vec<_>>().join(" ");
        let _ =
            write!(text, "; {} of {}: {}", last.function, last.subject, cut(&lines, MOST_CHARS_IN_SENTENCE));
    }
    text
}

/// Prints a table of the calls, then the examples.
pub(crate) fn shown(shadow: &ShadowStatus) -> String {
    if shadow.functions.is_empty() {
        return "no call has been compared yet\n".to_owned();
    }
    let mut table = output::table(["FUNCTION", "SAME", "DIFFERS", "UNREAD", "BROKEN", "LEFT OUT"]);
    for (function, CallCounts { same, differs, unread, broken, left_out }) in &shadow.functions {
        table.add_row([
            function.clone(),
            same.to_string(),
            differs.to_string(),
            unread.to_string(),
            broken.to_string(),
            left_out.to_string(),
        ]);
    }
    let mut text = format!("{table}\n");
    if shadow.functions.values().any(|counts| counts.unread > 0) {
        text.push_str(
            "UNREAD: it read what the recording lacks and shadow-reads of its grants do not list; list it to compare these\n",
        );
    }
    for DifferenceExample { function, subject, seen, text: example } in &shadow.examples {
        let times = if *seen == 1 { "once".to_owned() } else { format!("{seen} times") };
        let _ = writeln!(text, "\n{function}, {times}, the last of {subject}:");
        for line in example.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn shadow() -> ShadowStatus {
        let counts = CallCounts { same: 3, differs: 2, unread: 4, broken: 0, left_out: 1 };
        let example = DifferenceExample {
            function: "CreateMachine".to_owned(),
            subject: "ns/m".to_owned(),
            seen: 2,
            text: "answer differs:\n  answer.Ok: 1 -> 2".to_owned(),
        };
        ShadowStatus {
            functions: BTreeMap::from([("CreateMachine".to_owned(), counts)]),
            examples: vec![example],
        }
    }

    #[test]
    fn a_report_is_a_table_and_examples() {
        let text = shown(&shadow());
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().map(words).collect();
        assert_eq!(lines[1], ["CreateMachine", "3", "2", "4", "0", "1"], "{text}");
        assert!(
            text.ends_with(
                "\nCreateMachine, 2 times, the last of ns/m:\n  answer differs:\n    answer.Ok: 1 -> 2\n"
            ),
            "{text}"
        );
        assert_eq!(shown(&ShadowStatus::default()), "no call has been compared yet\n");
    }

    #[test]
    fn it_survives_the_annotation() {
        let text = serde_json::to_string(&shadow()).expect("JSON");
        assert_eq!(serde_json::from_str::<ShadowStatus>(&text).expect("a report"), shadow());
        assert_eq!(
            serde_json::from_str::<ShadowStatus>("{}").expect("of an older host"),
            ShadowStatus::default()
        );
    }

    #[test]
    fn a_sentence_is_short() {
        assert_eq!(summary(&ShadowReport::default()), "");
        let report = ShadowReport {
            functions: BTreeMap::from([(
                "CreateMachine",
                CallCounts { same: 1, left_out: 2, ..CallCounts::default() },
            )]),
            ..ShadowReport::default()
        };
        assert_eq!(summary(&report), "; 0 of 1 calls would have been otherwise, 2 were left out");
        assert_eq!(cut("abc", 2), "ab …");
    }
}
