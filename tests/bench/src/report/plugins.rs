//! Calls, loads, languages, attacks and signing.

use std::time::Duration;

use super::page::{at_most, below, none};
use super::{Page, Report, float, micros, millis, seconds, secs};
use crate::attacks::{AttackFigures, BLOCKS_A_RUN, CALLS_A_BLOCK, PAUSE_OF_CALLS, RUNS};
use crate::calls::signing::SigningFigures;
use crate::calls::{CallFigures, Pair};
use crate::drivers::languages::{LanguageFigures, LanguageOutcome};
use crate::swaps::{Load, SwapFigures, SwapsUnderLoad};

/// Largest ratio of 99th percentiles that other drivers may notice of an attack.
const MOST_DURING_ATTACK: f64 = 1.10;
/// Load of a driver in Rust whose code is in the cache.
const CACHED: Duration = Duration::from_millis(5);
/// The same in the other languages.
const CACHED_OTHERS: Duration = Duration::from_millis(50);
/// From the declaration of a component that was never compiled to its first answer.
const NEW: Duration = Duration::from_secs(3);
/// A fresh instance, over the bare prototype.
const OVER_PROTOTYPE: f64 = 1.5;

impl Report for CallFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            "A driver call in a fresh instance",
            "One call at a time, in turn with the same work in plain Rust (for the request: `reqwest` with pooled connections). \
             The server is one thread on loopback that answers at once. Times in µs.",
        );
        page.table(&["call", "sandboxed median", "p99", "plain median", "p99", "over plain, median", "aim"]);
        for pair in &self.pairs {
            page.row(&[
                &pair.what,
                &micros(pair.sandboxed.median()),
                &micros(pair.sandboxed.p99()),
                &micros(pair.native.median()),
                &micros(pair.native.p99()),
                &format_args!("**{}**", micros(pair.over_native())),
                &aim_of(pair),
            ]);
        }
        let rounds = self.pairs.first().map_or(0, |pair| pair.rounds);
        let (sandboxed, native) = self.http_a_second;
        page.line(format_args!(
            "\n{rounds} calls each. With {} callers at the same time: {:.0} empty calls a second; {sandboxed:.0} calls with a \
             request, plain Rust {native:.0}.",
            self.callers, self.empty_a_second,
        ));
    }
}

fn aim_of(pair: &Pair) -> String {
    pair.aim.map_or("-".to_owned(), |aim| at_most(aim.as_micros(), pair.over_native() <= aim))
}

impl Report for SwapFigures {
    fn write(&self, page: &mut Page) {
        write_loads(page, &self.loads);
        page.section(
            "From the change of a ConfigMap to the first call",
            "The whole program on a real kube-apiserver. The ConfigMap of a driver without network is changed while Machines are created \
             without pause; the first Machine whose VM the changed driver made is seen by a watch. Times in ms.",
        );
        page.table(&["change", "median", "longest", "aim"]);
        for change in &self.changes {
            let median = change.times.median();
            page.row(&[
                &change.what,
                &format_args!("**{}**", millis(median)),
                &millis(change.times.longest()),
                &below(change.aim.as_millis(), median < change.aim),
            ]);
        }
        write_swaps(page, &self.under_load);
    }
}

fn write_loads(page: &mut Page, loads: &[Load]) {
    page.section(
        "Loading a driver",
        "From its declaration until its first answer, the one to `describe`: unpacked, hashed, verified, its code loaded (or compiled \
         in a child process, at low priority), linked and called. Unpacking and hashing alone, in plain Rust, stand beside. Times in ms.",
    );
    page.table(&[
        "driver", "KiB", "cached, median", "p99", "unpacking alone, median", "compiled, median",
        "aim for cached",
    ]);
    for load in loads {
        let cached = load.cached.median();
        page.row(&[
            &load.driver,
            &(load.size_bytes / 1024),
            &format_args!("**{}**", millis(cached)),
            &millis(load.cached.p99()),
            &millis(load.unpacking.median()),
            &millis(load.new.median()),
            &below(CACHED.as_millis(), cached < CACHED),
        ]);
    }
}

fn write_swaps(page: &mut Page, outcome: &SwapsUnderLoad) {
    page.section(
        format_args!("{} swaps under {} calls in flight", outcome.swaps, outcome.callers),
        "Two versions of the driver of the simulated cloud in turn, each from the cache, while creates are in flight without pause. What \
         was asked is counted by the callers, what was done by the cloud.",
    );
    page.figures();
    let failed: u64 = outcome.failed.values().sum();
    page.figure("all swaps", seconds(outcome.took));
    page.figure("calls", outcome.calls);
    page.at_most("calls that failed", failed, none(failed));
    let doubled = outcome.cloud_calls.saturating_sub(outcome.calls) + outcome.duplicates;
    page.at_most("calls that were doubled", doubled, none(doubled));
    page.figure("requests to the cloud, VMs", format_args!("{}, {}", outcome.cloud_calls, outcome.created));
}

impl Report for Vec<LanguageOutcome> {
    fn write(&self, page: &mut Page) {
        let measured = || {
            self.iter().filter_map(|outcome| match outcome {
                LanguageOutcome::Measured(figures) => Some(&**figures),
                LanguageOutcome::LeftOut { .. } => None,
            })
        };
        write_first_calls(page, measured());
        write_calls(page, measured());
        for outcome in self {
            if let LanguageOutcome::LeftOut { language, why } = outcome {
                let why = why.lines().next().unwrap_or_default();
                page.line(format_args!("\n{language} is left out: {why}"));
            }
        }
    }
}

fn write_first_calls<'a>(page: &mut Page, measured: impl Iterator<Item = &'a LanguageFigures>) {
    page.section(
        "The first call of a driver in each language",
        "The driver of the simulated cloud. From the declaration, while nothing serves the provider, to the answer of the first call: of a component that was never compiled \
         (in a child process, at low priority), and from the cache. Beside it, when optimised code has taken the place of the first.",
    );
    page.table(&[
        "language", "KiB", "packed", "new, s", "its code", "aim", "optimised after, s", "cached, ms", "p99",
        "aim",
    ]);
    for figures in measured {
        let aim = if figures.language == "Rust" { CACHED } else { CACHED_OTHERS };
        let (new, cached) = (figures.new.median(), figures.cached.median());
        page.row(&[
            &figures.language,
            &(figures.size_bytes / 1024),
            &(figures.packed_bytes / 1024),
            &format_args!("**{:.2}**", secs(new)),
            &figures.first_tier,
            &below(NEW.as_secs(), new < NEW),
            &format_args!("{:.2}", secs(figures.optimised)),
            &format_args!("**{}**", millis(cached)),
            &millis(figures.cached.p99()),
            &below(aim.as_millis(), cached < aim),
        ]);
    }
}

fn write_calls<'a>(page: &mut Page, measured: impl Iterator<Item = &'a LanguageFigures>) {
    page.section(
        "A call of a driver in each language",
        "In a fresh instance with optimised code, in turn with the same work in plain Rust: `validate-class`, and `get-status` with one HTTP request. Times in µs. The aim is set by a \
         bare prototype of the language. Memory is that of an instance that waits for its cloud.",
    );
    page.table(&[
        "language", "empty, median", "p99", "times plain Rust", "times the prototype", "aim",
        "with a request, median", "p99", "times plain Rust", "resident KiB", "private KiB",
    ]);
    for figures in measured {
        let (empty, request) = (&figures.empty, &figures.request);
        let over_prototype = times(empty.sandboxed.median(), figures.prototype);
        page.row(&[
            &figures.language,
            &format_args!("**{}**", micros(empty.sandboxed.median())),
            &micros(empty.sandboxed.p99()),
            &format_args!("{:.0}", times(empty.sandboxed.median(), empty.native.median())),
            &format_args!("{over_prototype:.2}"),
            &at_most(OVER_PROTOTYPE, over_prototype <= OVER_PROTOTYPE),
            &format_args!("**{}**", micros(request.sandboxed.median())),
            &micros(request.sandboxed.p99()),
            &format_args!("{:.1}", times(request.sandboxed.median(), request.native.median())),
            &figures.memory.resident_kib,
            &figures.memory.private_kib,
        ]);
    }
}

impl Report for AttackFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            "Calls of a driver while another one attacks",
            format_args!(
                "`get-status` of the simulated cloud's driver with one HTTP request, one call at a time with {PAUSE_OF_CALLS:?} between two: {BLOCKS_A_RUN} blocks of {CALLS_A_BLOCK} calls by itself, in turn with as \
                 many blocks during which the hostile driver is called over and over, without a pause and without being quarantined; {RUNS} such runs, of which the one with the middle ratio is \
                 shown. The hostile cloud lets others go first: it stands for another machine. Times in µs.",
            ),
        );
        page.table(&[
            "attack", "callers", "attacks ended", "median alone", "during", "ratio", "p99 alone", "during",
            "ratio", "of all runs", "aim",
        ]);
        for measured in &self.measured {
            let run = measured.run();
            let (alone, during, ratio) = (&run.alone, &run.during, run.ratio());
            let (least, most) = measured.range();
            page.row(&[
                &measured.what,
                &measured.callers,
                &measured.attacks,
                &micros(alone.median()),
                &micros(during.median()),
                &format_args!("{:.2}", times(during.median(), alone.median())),
                &micros(alone.p99()),
                &micros(during.p99()),
                &format_args!("**{ratio:.2}**"),
                &format_args!("{least:.2} to {most:.2}"),
                &at_most(format_args!("{MOST_DURING_ATTACK:.2}"), ratio <= MOST_DURING_ATTACK),
            ]);
        }
        page.line(format_args!("\nCores busy with something else meanwhile: {:.2}.", self.others));
    }
}

impl Report for SigningFigures {
    fn write(&self, page: &mut Page) {
        page.section(
            "Signing a request",
            "SigV4 as the host does it for each request that a driver marks, beside an unsigned request of the same size with `reqwest` \
             and pooled connections to a server on loopback that answers at once; in turn. Times in µs.",
        );
        page.table(&["what", "median", "p99"]);
        for (what, times) in [("signing", &self.signing), ("an unsigned request", &self.unsigned)] {
            page.row(&[&what, &micros(times.median()), &micros(times.p99())]);
        }
        let ratio = self.signing.median().as_secs_f64() / self.unsigned.median().as_secs_f64();
        page.line(format_args!(
            "\n{} of each, with bodies of {:.0} KiB. At the median, signing takes **{ratio:.2}** of the time of a request to a server \
             that is next door and does nothing.",
            self.rounds,
            float(self.body_bytes as u64) / 1024.0,
        ));
    }
}

fn times(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::MIN_POSITIVE)
}
