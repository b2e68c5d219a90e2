//! `machinist plugin logs`: the last lines of a plugin's log, from the leader.

use std::time::Duration;

use anyhow::bail;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use machinist_plugin_host::{KeptLine, is_name, shown, shown_json};

use crate::admin::LogPage;
use crate::args::{LogsFlags, Output, PluginLevel};
use crate::cluster::client_that_asks_once;
use crate::cluster::leader::{self, HostLocation};

/// Between two questions of somebody who follows.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) async fn logs(flags: LogsFlags) -> anyhow::Result<()> {
    let control = match flags.url {
        Some(_) => None,
        None => Some(client_that_asks_once(&flags.access).await?),
    };
    let mut reader = Reader::new(&flags, Timestamp::now());
    let page = match ask(&flags, control.as_ref(), 0).await {
        Ok(page) => page,
        Err(why) => bail!("{why}"),
    };
    if !page.is_declared && page.kept.lines.is_empty() && !flags.follow {
        bail!("{}", unknown(&flags.name, &page.plugins));
    }
    let is_silent = show(&mut reader, page, flags.output)?;
    if flags.follow {
        return follow(&flags, control.as_ref(), reader).await;
    }
    if is_silent {
        eprintln!("{} has logged nothing of this kind since the host that leads was started", flags.name);
    }
    Ok(())
}

/// Until interrupted, through changes of the leader.
async fn follow(flags: &LogsFlags, control: Option<&Client>, mut reader: Reader) -> anyhow::Result<()> {
    let mut problem = None;
    loop {
        tokio::time::sleep(PAUSE).await;
        match ask(flags, control, reader.last).await {
            Ok(page) => {
                problem = None;
                // Another process counts from the beginning: its lines may have smaller numbers.
                let page = match reader.is_other(&page) {
                    true => ask(flags, control, 0).await.unwrap_or(page),
                    false => page,
                };
                show(&mut reader, page, flags.output)?;
            }
            // Another may lead in a moment.
            Err(why) if problem.as_ref() != Some(&why) => {
                eprintln!("{why}; trying again");
                problem = Some(why);
            }
            Err(_) => {}
        }
    }
}

/// Prints what is new of a page. True when that is nothing.
fn show(reader: &mut Reader, page: LogPage, output: Output) -> anyhow::Result<bool> {
    let (lines, notes) = reader.read(page);
    for note in notes {
        eprintln!("{note}");
    }
    print(&lines, output)?;
    Ok(lines.is_empty())
}

async fn ask(flags: &LogsFlags, control: Option<&Client>, after: u64) -> Result<LogPage, String> {
    // A text that is no name of a plugin must not become the path of another page.
    if !is_name(&flags.name) {
        return Err(format!("{:?} is no name of a plugin: `machinist plugin list` shows them", flags.name));
    }
    let page = format!("/debug/plugins/{}/logs?after={after}", flags.name);
    let location = HostLocation {
        address: flags.url.as_deref(),
        address_flag: "--url",
        leases: &flags.namespace,
        pods: flags.host_namespace.as_deref().unwrap_or(&flags.namespace),
        port: flags.port,
    };
    let (_, page) = leader::ask(control, &location, &page).await?;
    Ok(page)
}

fn unknown(name: &str, plugins: &[String]) -> String {
    match plugins {
        [] => format!("there is no plugin {name}, nor any other: `machinist plugin push` brings one"),
        plugins => format!("there is no plugin {name}; there are: {}", plugins.join(", ")),
    }
}

/// The position in the log, and the filter.
struct Reader {
    since: Option<Timestamp>,
    level: PluginLevel,
    process: Option<String>,
    last: u64,
}

impl Reader {
    fn new(flags: &LogsFlags, now: Timestamp) -> Self {
        let since =
            flags.since.map(|since: SignedDuration| now.saturating_sub(since).unwrap_or(Timestamp::MIN));
        Self { since, level: flags.level, process: None, last: 0 }
    }

    fn is_other(&self, page: &LogPage) -> bool {
        self.process.as_ref().is_some_and(|process| *process != page.process)
    }

    /// The lines to show, and what is to be said beside them.
    fn read(&mut self, page: LogPage) -> (Vec<KeptLine>, Vec<String>) {
        let mut notes = Vec::new();
        if self.is_other(&page) {
            notes.push("another process leads from here on".to_owned());
            self.last = 0;
        }
        let is_first = self.process.as_ref() != Some(&page.process);
        if is_first && self.since.is_none() && page.kept.dropped > 0 {
            notes.push(format!("{} older lines are not kept any more", page.kept.dropped));
        }
        self.process = Some(page.process);
        let mut lines = page.kept.lines;
        lines.retain(|line| line.number > self.last);
        self.last = lines.last().map_or(self.last, |line| line.number);
        let since = self.since;
        lines.retain(|line| {
            since.is_none_or(|since| line.time >= since) && PluginLevel::of(&line.level) >= self.level
        });
        (lines, notes)
    }
}

fn print(lines: &[KeptLine], output: Output) -> anyhow::Result<()> {
    for line in lines {
        match output {
            Output::Json => println!("{}", shown_json(&serde_json::to_string(line)?)),
            Output::Table => println!("{}", text(line)),
        }
    }
    Ok(())
}

fn text(line: &KeptLine) -> String {
    let KeptLine { time, level, call, message, fields, .. } = line;
    // A driver's text must not command the terminal, nor look like another line.
    let text = format!("{time:.3} {:5} [{}] {} {}", shown(level), shown(call), shown(message), shown(fields));
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use machinist_plugin_host::KeptLines;

    use super::*;

    fn line(number: u64, second: i64, level: &str) -> KeptLine {
        KeptLine {
            number,
            time: Timestamp::from_second(second).unwrap(),
            level: level.to_owned(),
            call: "create machines/a".to_owned(),
            digest: "sha256:00".to_owned(),
            message: format!("line {number}"),
            fields: "zone=a".to_owned(),
        }
    }

    fn page(process: &str, lines: Vec<KeptLine>, dropped: u64) -> LogPage {
        LogPage {
            process: process.to_owned(),
            is_declared: true,
            plugins: vec!["sim".to_owned()],
            kept: KeptLines { lines, dropped },
        }
    }

    fn reader(since: Option<i64>, level: PluginLevel) -> Reader {
        let since = since.map(|second| Timestamp::from_second(second).unwrap());
        Reader { since, level, process: None, last: 0 }
    }

    fn numbers(reader: &mut Reader, page: LogPage) -> (Vec<u64>, Vec<String>) {
        let (lines, notes) = reader.read(page);
        (lines.into_iter().map(|line| line.number).collect(), notes)
    }

    #[test]
    fn lines_are_chosen_by_time_and_level() {
        let lines = || vec![line(1, 10, "error"), line(2, 20, "info"), line(3, 30, "debug")];
        let all = numbers(&mut reader(None, PluginLevel::Trace), page("a", lines(), 4));
        assert_eq!(all, (vec![1, 2, 3], vec!["4 older lines are not kept any more".to_owned()]));
        assert_eq!(numbers(&mut reader(Some(20), PluginLevel::Trace), page("a", lines(), 4)).0, [2, 3]);
        assert_eq!(numbers(&mut reader(None, PluginLevel::Info), page("a", lines(), 0)).0, [1, 2]);
        assert_eq!(numbers(&mut reader(None, PluginLevel::Warn), page("a", lines(), 0)).0, [1]);
    }

    #[test]
    fn who_follows_sees_each_line_once_and_those_of_the_next_leader_too() {
        let mut reader = reader(None, PluginLevel::Trace);
        assert_eq!(numbers(&mut reader, page("a", vec![line(7, 1, "info")], 0)).0, [7]);
        let next = vec![line(7, 1, "info"), line(9, 2, "debug")];
        assert_eq!(numbers(&mut reader, page("a", next, 0)).0, [9]);
        assert_eq!(reader.last, 9);
        let other = page("b", vec![line(1, 3, "info")], 0);
        assert!(reader.is_other(&other));
        let (lines, notes) = numbers(&mut reader, other);
        assert_eq!((lines, notes), (vec![1], vec!["another process leads from here on".to_owned()]));
    }

    #[test]
    fn a_line_says_when_in_which_call_what_and_cannot_steer_a_terminal() {
        let unusual = KeptLine { message: "made\u{1b}[2J\nit".to_owned(), ..line(1, 0, "warn") };
        assert_eq!(
            text(&unusual),
            "1970-01-01T00:00:00.000Z warn  [create machines/a] made\\u{1b}[2J\\nit zone=a"
        );
    }

    #[test]
    fn a_name_that_is_wrong_is_answered_with_those_that_are_right() {
        let plugins = ["aws".to_owned(), "sim".to_owned()];
        assert_eq!(unknown("smi", &plugins), "there is no plugin smi; there are: aws, sim");
        assert!(unknown("smi", &[]).contains("plugin push"));
    }
}
