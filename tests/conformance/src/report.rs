//! The report about a driver: a text, a score, JUnit XML.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::case::Stop;

/// One check that is over.
#[derive(Clone, Debug)]
pub struct Result {
    pub group: &'static str,
    /// Its name in the group.
    pub name: &'static str,
    /// The subject of the check.
    pub promise: &'static str,
    pub verdict: std::result::Result<(), Stop>,
    /// How long it took.
    pub took: Duration,
}

/// All checks of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The driver's own name.
    pub driver: String,
    pub version: String,
    /// The provider of the classes: a driver may serve several.
    pub provider: String,
    /// In the order of groups.
    pub results: Vec<Result>,
    pub took: Duration,
}

/// How many checks there were of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    pub passed: usize,
    /// Not passed, or not brought to an end.
    pub failed: usize,
    pub skipped: usize,
}

impl Score {
    /// Of those that applied, rounded down: only all of them are a hundred.
    pub fn percent(&self) -> usize {
        (self.passed * 100).checked_div(self.passed + self.failed).unwrap_or(0)
    }
}

impl Result {
    pub fn id(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }

    pub fn line(&self) -> String {
        match &self.verdict {
            Ok(()) => format!("  ok       {:<18} {}", self.name, self.promise),
            Err(Stop::Skipped(why)) => format!("  skipped  {:<18} {why}", self.name),
            Err(Stop::Failed(why)) => {
                format!("  FAILED   {:<18} {}\n           {:<18} {why}", self.name, self.promise, "")
            }
            Err(Stop::Broken(why)) => {
                format!("  TROUBLE  {:<18} {}\n           {:<18} {why}", self.name, self.promise, "")
            }
        }
    }
}

impl Report {
    pub fn score(&self) -> Score {
        let mut score = Score::default();
        for result in &self.results {
            match result.verdict {
                Ok(()) => score.passed += 1,
                Err(Stop::Failed(_) | Stop::Broken(_)) => score.failed += 1,
                Err(Stop::Skipped(_)) => score.skipped += 1,
            }
        }
        score
    }

    /// The checks that did not pass.
    pub fn failures(&self) -> Vec<String> {
        let is_failure = |result: &&Result| matches!(result.verdict, Err(Stop::Failed(_) | Stop::Broken(_)));
        self.results.iter().filter(is_failure).map(Result::id).collect()
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut group = "";
        for result in &self.results {
            if result.group != group {
                let gap = if group.is_empty() { "" } else { "\n" };
                group = result.group;
                // Writing to a text cannot fail.
                let _ = writeln!(text, "{gap}{group}");
            }
            let _ = writeln!(text, "{}", result.line());
        }
        let _ = writeln!(text, "\n{}", self.summary());
        text
    }

    pub fn summary(&self) -> String {
        let score = self.score();
        let Score { passed, failed, skipped } = score;
        format!(
            "{} {}: {passed} of {} checks passed, {failed} failed, {skipped} skipped; score {} % ({:.1} s)",
            self.driver,
            self.version,
            passed + failed,
            score.percent(),
            self.took.as_secs_f64()
        )
    }

    /// A page to publish beside the driver: which component was checked, by which kit, and what came of each check.
    pub fn markdown(&self, digest: &str) -> String {
        let score = self.score();
        let mut text = format!(
            "# Conformance of {} {}\n\n| | |\n| --- | --- |\n| component | `{digest}` |\n\
             | provider | {} |\n| kit | Machinist {} |\n\
             | score | {} %: {} of {} checks passed, {} failed, {} skipped |\n",
            self.driver,
            self.version,
            cell(&self.provider),
            env!("CARGO_PKG_VERSION"),
            score.percent(),
            score.passed,
            score.passed + score.failed,
            score.failed,
            score.skipped,
        );
        let mut group = "";
        for result in &self.results {
            if result.group != group {
                group = result.group;
                // Writing to a text cannot fail.
                let _ = writeln!(text, "\n## {group}\n\n| check | promise | result |\n| --- | --- | --- |");
            }
            let (word, why) = match &result.verdict {
                Ok(()) => ("passed", String::new()),
                Err(Stop::Skipped(why)) => ("skipped", format!(": {}", cell(why))),
                Err(Stop::Failed(why)) => ("**failed**", format!(": {}", cell(why))),
                Err(Stop::Broken(why)) => ("**not checked**", format!(": {}", cell(why))),
            };
            let _ = writeln!(text, "| {} | {} | {word}{why} |", result.name, cell(result.promise));
        }
        text
    }

    /// For CI systems: a suite for each group.
    pub fn junit(&self) -> String {
        let mut groups: BTreeMap<&str, Vec<&Result>> = BTreeMap::new();
        let mut order = Vec::new();
        for result in &self.results {
            if !groups.contains_key(result.group) {
                order.push(result.group);
            }
            groups.entry(result.group).or_default().push(result);
        }
        let score = self.score();
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            xml,
            "<testsuites name=\"{}\" {} time=\"{:.3}\">",
            escaped(&format!("{} {}", self.driver, self.version)),
            counts(score),
            self.took.as_secs_f64()
        );
        for group in order {
            let results = groups.remove(group).unwrap_or_default();
            suite(&mut xml, group, &results);
        }
        xml.push_str("</testsuites>\n");
        xml
    }
}

/// A text as a cell of a table, in one line.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn counts(score: Score) -> String {
    let tests = score.passed + score.failed + score.skipped;
    format!("tests=\"{tests}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"", score.failed, score.skipped)
}

fn suite(xml: &mut String, group: &str, results: &[&Result]) {
    let mut score = Score::default();
    for result in results {
        match result.verdict {
            Ok(()) => score.passed += 1,
            Err(Stop::Failed(_) | Stop::Broken(_)) => score.failed += 1,
            Err(Stop::Skipped(_)) => score.skipped += 1,
        }
    }
    let time: f64 = results.iter().map(|result| result.took.as_secs_f64()).sum();
    let _ = writeln!(xml, "  <testsuite name=\"{}\" {} time=\"{time:.3}\">", escaped(group), counts(score));
    for result in results {
        let _ = write!(
            xml,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            escaped(result.group),
            escaped(result.name),
            result.took.as_secs_f64()
        );
        let _ = match &result.verdict {
            Ok(()) => writeln!(xml, "/>"),
            Err(Stop::Skipped(why)) => {
                writeln!(xml, "><skipped message=\"{}\"/></testcase>", escaped(why))
            }
            Err(Stop::Failed(why) | Stop::Broken(why)) => writeln!(
                xml,
                "><failure message=\"{}\">{}</failure></testcase>",
                escaped(why),
                escaped(result.promise)
            ),
        };
    }
    xml.push_str("  </testsuite>\n");
}

/// Escapes an attribute or a text. A character that XML cannot hold becomes a question mark.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let result = |group, name, verdict| Result {
            group,
            name,
            promise: "a promise",
            verdict,
            took: Duration::from_millis(10),
        };
        Report {
            driver: "sim".to_owned(),
            version: "0.1.0".to_owned(),
            provider: "sim".to_owned(),
            results: vec![
                result("create", "one", Ok(())),
                result("create", "two", Err(Stop::Failed("got \"<b>\"\u{1} & more".to_owned()))),
                result("list", "own", Err(Stop::Skipped("no list".to_owned()))),
            ],
            took: Duration::from_secs(1),
        }
    }

    #[test]
    fn skipped_checks_do_not_count() {
        let score = report().score();
        assert_eq!((score, score.percent()), (Score { passed: 1, failed: 1, skipped: 1 }, 50));
        assert_eq!(Score { passed: 199, failed: 1, skipped: 0 }.percent(), 99);
        assert_eq!(Score::default().percent(), 0);
    }

    #[test]
    fn a_text_has_each_group_once_and_says_why() {
        let text = report().text();
        assert_eq!(text.lines().filter(|line| *line == "create").count(), 1, "{text}");
        assert!(text.contains("FAILED   two") && text.contains("got \"<b>\""), "{text}");
        assert!(text.ends_with("1 of 2 checks passed, 1 failed, 1 skipped; score 50 % (1.0 s)\n"), "{text}");
    }

    #[test]
    fn a_page_names_component_kit_and_provider_and_no_text_of_a_driver_breaks_its_tables() {
        let page = report().markdown("sha256:12ab");
        let kit = format!("| kit | Machinist {} |", env!("CARGO_PKG_VERSION"));
        for line in [
            "# Conformance of sim 0.1.0",
            "| component | `sha256:12ab` |",
            "| provider | sim |",
            &kit,
            "| score | 50 %: 1 of 2 checks passed, 1 failed, 1 skipped |",
            "| one | a promise | passed |",
            "| own | a promise | skipped: no list |",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in {page}");
        }
        assert_eq!(page.lines().filter(|line| *line == "## create").count(), 1, "{page}");
        assert_eq!(cell("a | b\n<c>"), "a \\| b &lt;c>");
    }

    #[test]
    fn junit_is_xml_whatever_a_driver_writes() {
        let xml = report().junit();
        assert!(
            xml.contains("<testsuite name=\"create\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""),
            "{xml}"
        );
        assert!(xml.contains("message=\"got &quot;&lt;b&gt;&quot;? &amp; more\""), "{xml}");
        assert!(xml.contains("<skipped message=\"no list\"/>"), "{xml}");
    }
}
