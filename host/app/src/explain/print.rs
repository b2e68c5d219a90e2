//! An explanation for people.

use std::fmt::Write;

use comfy_table::Table;
use jiff::{SignedDuration, Timestamp};

use super::explanation::{EventLine, EventLines, Explanation, LinkState};
use super::turn::short;
use crate::output;

pub(super) fn text(explanation: &Explanation, now: Timestamp) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut out, explanation, now);
    out
}

fn write(out: &mut String, explanation: &Explanation, now: Timestamp) -> std::fmt::Result {
    let Explanation { kind, namespace, name, uid, .. } = explanation;
    writeln!(out, "{kind} {namespace}/{name} (uid {uid})")?;
    let since = explanation.state_since.map(|at| format!(" since {}", ago(at, now))).unwrap_or_default();
    writeln!(out, "State:     {}{since}", explanation.state)?;
    if let Some(at) = explanation.deletion_asked {
        writeln!(out, "Deletion:  asked for {}", ago(at, now))?;
    }
    match (&explanation.awaited, &explanation.unwritten) {
        (Some(awaited), _) => {
            writeln!(out, "Awaited:   {}, since {}", awaited.reason, ago(awaited.since, now))?;
            writeln!(out, "           {}", awaited.message)?;
            if explanation.is_from_memory {
                let leader = explanation.leader.as_deref().unwrap_or("the leader");
                writeln!(out, "           (from the memory of {leader}: the CRDs have no status.machinist)")?;
            }
        }
        (None, Some(why)) => writeln!(out, "Awaited:   no host has written why: {why}")?,
        (None, None) => writeln!(out, "Awaited:   nothing")?,
    }
    for (number, next) in explanation.next.iter().enumerate() {
        writeln!(out, "{}{next}", if number == 0 { "Next:      " } else { "           " })?;
    }
    writeln!(out, "Chain:")?;
    let width = explanation.chain.iter().map(|link| link.what.len()).fold(7, usize::max);
    for link in &explanation.chain {
        let mark = match link.state {
            LinkState::Good => "ok",
            LinkState::Absent => "--",
            LinkState::Bad => "!!",
            LinkState::Unknown => "??",
        };
        writeln!(out, "  {mark} {:<width$} {}", link.what, link.says)?;
    }
    if !explanation.finalizers.is_empty() {
        writeln!(out, "Finalizers:\n  {}", explanation.finalizers.join("\n  "))?;
    }
    if let Some(last) = &explanation.last_operation {
        writeln!(out, "Last operation:\n  {last}")?;
    }
    if !explanation.conditions.is_empty() {
        writeln!(out, "Conditions:")?;
        for line in &explanation.conditions {
            let since = ago(line.since, now);
            writeln!(out, "  {}={} {} since {since}: {}", line.kind, line.status, line.reason, line.message)?;
        }
    }
    match &explanation.events {
        EventLines::NotShown => {}
        EventLines::Unreadable(why) => writeln!(out, "Events cannot be read: {why}")?,
        EventLines::Read(events) if events.is_empty() => writeln!(out, "Events:\n  none")?,
        EventLines::Read(events) => {
            writeln!(out, "Events:")?;
            for event in events {
                writeln!(out, "  {}", line(event, now))?;
            }
        }
    }
    match (&explanation.leader, &explanation.queue, &explanation.leader_unreachable) {
        (Some(leader), Some(queue), _) => {
            writeln!(out, "Last calls of the driver, as {leader} remembers them:")?;
            if queue.calls.is_empty() {
                writeln!(out, "  none since it started")?;
            } else {
                writeln!(out, "{}", calls(queue, now))?;
            }
        }
        (_, _, Some(why)) => writeln!(out, "Queue and last calls are not known: {why}")?,
        (_, _, None) => {}
    }
    Ok(())
}

fn line(event: &EventLine, now: Timestamp) -> String {
    let EventLine { at, kind, reason, message, count } = event;
    let at = at.map(|at| format!("{} ", ago(at, now))).unwrap_or_default();
    let times = if *count > 1 { format!(" × {count}") } else { String::new() };
    format!("{at}{kind} {reason}{times}: {message}")
}

fn calls(queue: &machinist_runtime::machine_query::MachineDetails, now: Timestamp) -> Table {
    let mut table = output::table(["BEGAN", "OPERATION", "PROVIDER", "OUTCOME", "CODE", "TOOK"]);
    for call in &queue.calls {
        let code = [call.code.as_deref(), call.cloud_code.as_deref()];
        let code = code.into_iter().flatten().collect::<Vec<_>>().join(" / ");
        table.add_row([
            ago(call.started, now),
            call.operation.clone(),
            call.provider.clone(),
            call.outcome.clone(),
            code,
            call.took_ms.map(|took| format!("{took} ms")).unwrap_or_default(),
        ]);
    }
    table
}

fn ago(at: Timestamp, now: Timestamp) -> String {
    let passed = now.duration_since(at).max(SignedDuration::ZERO);
    format!("{at:.0} ({} ago)", short(passed))
}
