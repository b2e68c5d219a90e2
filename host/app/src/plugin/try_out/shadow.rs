//! What a shadow would have done otherwise: in the status of its ConfigMap, in one sentence, and as `machinist plugin trial` prints it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use machinist_plugin_host::{ShadowCounts, ShadowReport};
use serde::{Deserialize, Serialize};

/// Examples in an annotation, which everybody who watches ConfigMaps has to read.
const MOST_EXAMPLES: usize = 6;
/// Of one example there.
const MOST_CHARS: usize = 600;
/// Of one example in a sentence.
const MOST_CHARS_TOLD: usize = 200;

/// As it stands in the status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Shadow {
    functions: BTreeMap<String, Counts>,
    examples: Vec<Example>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Counts {
    same: u64,
    differs: u64,
    unread: u64,
    broken: u64,
    left_out: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Example {
    function: String,
    subject: String,
    seen: u64,
    text: String,
}

impl From<&ShadowReport> for Shadow {
    fn from(report: &ShadowReport) -> Self {
        let counts = |of: &ShadowCounts| {
            let ShadowCounts { same, differs, unread, broken, left_out } = *of;
            Counts { same, differs, unread, broken, left_out }
        };
        let functions = report.functions.iter().map(|(name, of)| ((*name).to_owned(), counts(of)));
        let examples = report.examples.iter().take(MOST_EXAMPLES).map(|example| Example {
            function: example.function.to_owned(),
            subject: example.subject.clone(),
            seen: example.seen,
            text: cut(&example.text, MOST_CHARS),
        });
        Self { functions: functions.collect(), examples: examples.collect() }
    }
}

/// How the calls compare, in one sentence; empty before the first.
pub(crate) fn summary(report: &ShadowReport) -> String {
    let ShadowCounts { same, differs, unread, broken, left_out } = report.totals();
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
        let _ = write!(text, "; {} of {}: {}", last.function, last.subject, cut(&lines, MOST_CHARS_TOLD));
    }
    text
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    format!("{} …", text.chars().take(most).collect::<String>())
}

impl Shadow {
    /// A table, then the examples.
    pub(crate) fn shown(&self) -> String {
        if self.functions.is_empty() {
            return "no call has been compared yet\n".to_owned();
        }
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(["FUNCTION", "SAME", "DIFFERS", "UNREAD", "BROKEN", "LEFT OUT"]);
        for (function, Counts { same, differs, unread, broken, left_out }) in &self.functions {
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
        if self.functions.values().any(|counts| counts.unread > 0) {
            text.push_str(
                "UNREAD: it read what the recording lacks and shadow-reads of its grants do not list; list it to compare these\n",
            );
        }
        for Example { function, subject, seen, text: example } in &self.examples {
            let times = if *seen == 1 { "once".to_owned() } else { format!("{seen} times") };
            let _ = writeln!(text, "\n{function}, {times}, the last of {subject}:");
            for line in example.lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shadow() -> Shadow {
        let counts = Counts { same: 3, differs: 2, unread: 4, broken: 0, left_out: 1 };
        let example = Example {
            function: "CreateMachine".to_owned(),
            subject: "ns/m".to_owned(),
            seen: 2,
            text: "answer differs:\n  answer.Ok: 1 -> 2".to_owned(),
        };
        Shadow { functions: BTreeMap::from([("CreateMachine".to_owned(), counts)]), examples: vec![example] }
    }

    #[test]
    fn a_report_is_a_table_and_examples() {
        let text = shadow().shown();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = text.lines().map(words).collect();
        assert_eq!(lines[1], ["CreateMachine", "3", "2", "4", "0", "1"], "{text}");
        assert!(
            text.ends_with(
                "\nCreateMachine, 2 times, the last of ns/m:\n  answer differs:\n    answer.Ok: 1 -> 2\n"
            ),
            "{text}"
        );
        assert_eq!(Shadow::default().shown(), "no call has been compared yet\n");
    }

    #[test]
    fn it_survives_the_annotation() {
        let text = serde_json::to_string(&shadow()).expect("JSON");
        assert_eq!(serde_json::from_str::<Shadow>(&text).expect("a report"), shadow());
        assert_eq!(serde_json::from_str::<Shadow>("{}").expect("of an older host"), Shadow::default());
    }

    #[test]
    fn a_sentence_is_short() {
        assert_eq!(summary(&ShadowReport::default()), "");
        let report = ShadowReport {
            functions: BTreeMap::from([(
                "CreateMachine",
                ShadowCounts { same: 1, left_out: 2, ..ShadowCounts::default() },
            )]),
            ..ShadowReport::default()
        };
        assert_eq!(summary(&report), "; 0 of 1 calls would have been otherwise, 2 were left out");
        assert_eq!(cut("abc", 2), "ab …");
    }
}
