//! The part about hard use.

use super::{count, float, heading, line, row, secs, spread, table, verdict};
use crate::faults::{Crowd, Figures, Fire, Frugal, Killed, Outage, WINDOW_SECS};

/// Aims of the figures.
const UP_SECS: f64 = 60.0;
const DOWN_SECS: f64 = 60.0;
const OUTAGE_SECS: f64 = 15.0;
const EVENTS_P99_SECS: f64 = 2.0;
const DELETION_CALLS: f64 = 3.0;
const ROLLED_CALLS: f64 = 5.0;
const ROLLED_EVENTS: f64 = 4.0;

pub(super) fn render(page: &mut String, figures: &Figures) {
    heading(
        page,
        "Hard use",
        &format!(
            "A cloud without idempotency keys, whose driver declares a consistency window of {WINDOW_SECS} s. It answers a create \
             after 200 ms, boots in 500 ms and ends a VM in 500 ms. 429 comes with `Retry-After: 1`; 500 may have done the work as far as \
             the driver knows, so that a create waits for the window. Shares are of all calls, by chance. Machines are older than the window when \
             they are deleted.",
        ),
    );
    render_fires(page, &figures.fires);
    table(page, &["what", "figure", "aim"]);
    render_outage(page, &figures.outage);
    render_killed(page, &figures.killed);
    render_crowd(page, &figures.crowd);
    render_frugal(page, &figures.frugal);
}

fn render_fires(page: &mut String, fires: &[Fire]) {
    table(
        page,
        &[
            "Machines",
            "429",
            "500",
            "until Running",
            "until gone",
            "VMs",
            "duplicates",
            "tokens left",
            "calls a Machine",
            "aims",
        ],
    );
    for fire in fires {
        let Fire { machines, shares, up, down, vms, duplicates, tokens, calls } = fire;
        let (up, down) = (secs(*up), secs(*down));
        let is_met = up <= UP_SECS
            && down <= DOWN_SECS
            && float(*vms) <= count(*machines)
            && *duplicates == 0
            && *tokens == 0;
        line(
            page,
            format_args!(
                "| {machines} | {:.0} % | {:.0} % | **{up:.1} s** | **{down:.1} s** | {vms} | {duplicates} | {tokens} | {:.1} | {UP_SECS} s \
                 and {DOWN_SECS} s, {machines}, 0, 0: {} |",
                shares.0 * 100.0,
                shares.1 * 100.0,
                float(*calls) / count(*machines),
                verdict(is_met),
            ),
        );
    }
    line(page, format_args!(""));
}

fn render_outage(page: &mut String, Outage { machines, outage, up, duplicates }: &Outage) {
    let what = format!(
        "{machines} Machines while all look-ups fail for {} s, until Running ({duplicates} duplicates)",
        outage.as_secs()
    );
    row(page, &what, format!("**{:.1} s**", secs(*up)), Some((OUTAGE_SECS, secs(*up))));
}

fn render_killed(page: &mut String, killed: &Killed) {
    let Killed { machines, kills, after_the_last, vms, duplicates, tokens } = killed;
    let what = format!(
        "{machines} Machines, {kills} times `kill -9` meanwhile, from the last until Running ({vms} VMs, {duplicates} duplicates, {tokens} \
         tokens left)"
    );
    row(page, &what, format!("**{:.1} s**", secs(*after_the_last)), Some((UP_SECS, secs(*after_the_last))));
}

fn render_crowd(page: &mut String, Crowd { machines, late, events, lost }: &Crowd) {
    let what = format!(
        "Events of {machines} Machines at once, from what happened to a watch, median / p99 / longest ({events} Events, {lost} lost)"
    );
    row(page, &what, spread(late), Some((EVENTS_P99_SECS, secs(late.p99()))));
}

fn render_frugal(
    page: &mut String,
    Frugal { machines, surge, deletion, rolled, events, about_machines }: &Frugal,
) {
    let each = |total: u64| float(total) / f64::from(*machines);
    for (what, calls, aim) in [
        ("requests to the cloud for a deletion", deletion, DELETION_CALLS),
        ("requests to the cloud for a Machine of a rollout", rolled, ROLLED_CALLS),
    ] {
        let which = calls.iter().map(|(operation, calls)| format!("{operation} {:.2}", each(*calls)));
        let what = format!("{what}, of {machines} ({})", which.collect::<Vec<_>>().join(", "));
        let figure = each(calls.values().sum());
        row(page, &what, format!("**{figure:.2}**"), Some((aim, figure)));
    }
    let what = format!(
        "Events for a Machine of a rollout, of {machines}, {surge} at a time, those of its sets and deployment too ({about_machines:.2} about \
         Machines)"
    );
    row(page, &what, format!("**{events:.2}**"), Some((ROLLED_EVENTS, *events)));
}
