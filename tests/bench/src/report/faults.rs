//! Clouds that refuse and fail, a host that is killed, Events and requests to the cloud.

use super::page::met;
use super::{Page, Report, count, float, per_machine, secs, spread};
use crate::faults::{Crowd, FaultFigures, Fire, Frugal, Killed, Outage, WINDOW_SECS};

/// Aims of the figures.
const UP_SECS: f64 = 60.0;
const DOWN_SECS: f64 = 60.0;
const OUTAGE_SECS: f64 = 15.0;
const EVENTS_P99_SECS: f64 = 2.0;
const DELETION_CALLS: f64 = 3.0;
const ROLLED_CALLS: f64 = 5.0;
const ROLLED_EVENTS: f64 = 4.0;

impl Report for FaultFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            "Hard use",
            format_args!(
                "A cloud without idempotency keys, whose driver declares a consistency window of {WINDOW_SECS} s. It answers a create \
                 after 200 ms, boots in 500 ms and ends a VM in 500 ms. 429 comes with `Retry-After: 1`; 500 may have done the work as far as \
                 the driver knows, so that a create waits for the window. Shares are of all calls, by chance. Machines are older than the window when \
                 they are deleted.",
            ),
        );
        page.table(&[
            "Machines", "429", "500", "until Running", "until gone", "VMs", "duplicates", "tokens left",
            "calls a Machine", "aims",
        ]);
        for fire in &self.fires {
            write_fire(page, fire);
        }
        page.line("");
        page.figures();
        write_outage(page, &self.outage);
        write_killed(page, &self.killed);
        write_crowd(page, &self.crowd);
        write_frugal(page, &self.frugal);
    }
}

fn write_fire(page: &mut Page, fire: &Fire) {
    let Fire { machines, shares, up, down, vms, duplicates, tokens, calls } = fire;
    let (up, down) = (secs(*up), secs(*down));
    let is_met = up <= UP_SECS
        && down <= DOWN_SECS
        && float(*vms) <= count(*machines)
        && *duplicates == 0
        && *tokens == 0;
    page.row(&[
        machines,
        &format_args!("{:.0} %", shares.0 * 100.0),
        &format_args!("{:.0} %", shares.1 * 100.0),
        &format_args!("**{up:.1} s**"),
        &format_args!("**{down:.1} s**"),
        vms,
        duplicates,
        tokens,
        &format_args!("{:.1}", per_machine(*calls, *machines)),
        &format_args!("{UP_SECS} s and {DOWN_SECS} s, {machines}, 0, 0: {}", met(is_met)),
    ]);
}

/// A row of seconds in bold.
fn write_secs(page: &mut Page, what: &str, most: f64, value: f64) {
    page.at_most(what, format_args!("**{value:.1} s**"), (most, value));
}

fn write_outage(page: &mut Page, Outage { machines, outage, up, duplicates }: &Outage) {
    let what = format!(
        "{machines} Machines while all look-ups fail for {} s, until Running ({duplicates} duplicates)",
        outage.as_secs()
    );
    write_secs(page, &what, OUTAGE_SECS, secs(*up));
}

fn write_killed(page: &mut Page, killed: &Killed) {
    let Killed { machines, kills, after_the_last, vms, duplicates, tokens } = killed;
    let what = format!(
        "{machines} Machines, {kills} times `kill -9` meanwhile, from the last until Running ({vms} VMs, {duplicates} duplicates, {tokens} \
         tokens left)"
    );
    write_secs(page, &what, UP_SECS, secs(*after_the_last));
}

fn write_crowd(page: &mut Page, Crowd { machines, late, events, lost }: &Crowd) {
    let what = format!(
        "Events of {machines} Machines at once, from what happened to a watch, median / p99 / longest ({events} Events, {lost} lost)"
    );
    page.at_most(what, spread(late), (EVENTS_P99_SECS, secs(late.p99())));
}

fn write_frugal(
    page: &mut Page,
    Frugal { machines, surge, deletion, rolled, events, about_machines }: &Frugal,
) {
    let each = |total: u64| float(total) / f64::from(*machines);
    for (what, calls, aim) in [
        ("requests to the cloud for a deletion", deletion, DELETION_CALLS),
        ("requests to the cloud for a Machine of a rollout", rolled, ROLLED_CALLS),
    ] {
        let which = calls.iter().map(|(operation, calls)| format!("{operation} {:.2}", each(*calls)));
        let what = format!("{what}, of {machines} ({})", which.collect::<Vec<_>>().join(", "));
        page.ratio(what, aim, each(calls.values().sum()));
    }
    let what = format!(
        "Events for a Machine of a rollout, of {machines}, {surge} at a time, those of its sets and deployment too ({about_machines:.2} about \
         Machines)"
    );
    page.ratio(what, ROLLED_EVENTS, *events);
}
