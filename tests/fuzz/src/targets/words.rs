//! Texts in fields and flags that the core reads.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use machinist_core::disruption::maintenance::{Opening, Windows};
use machinist_core::health_policy::Reboots;
use machinist_core::value::int_or_percent::{IntOrPercent, RawIntOrPercent};
use machinist_core::value::{duration, selector};

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(super) const TARGET: Target = Target {
    name: "words",
    about: "durations, maintenance windows, shares and histories in fields: what is read is written as it was",
    grammar: Grammar::Text,
    samples,
    words: &[
        "Mon-Fri", "Sat,Sun", "Sun-Mon", "22:00-06:00", "00:00-24:00", "24:00-00:00", "Europe/Berlin", "UTC",
        "America/St_Johns", "Pacific/Apia", ";", "h", "m", "s", "ms", "us", "µs", "ns", "%", ".", "-", "+",
    ],
    share: 60,
    check,
};

fn samples() -> Vec<Vec<u8>> {
    samples::texts(&[
        "1h30m0.5s",
        "-90s",
        "100%",
        "25",
        "Mon-Fri 22:00-06:00 Europe/Berlin; Sat,Sun 00:00-24:00 UTC",
        "2026-01-01T00:00:00Z,2026-01-01T01:00:00Z",
        "In",
    ])
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let shape = Shape::of_result(&of_duration(&text)?);
    let share = IntOrPercent::parse(&RawIntOrPercent::Text(text.to_string()));
    if let Ok(share) = &share {
        for whole in [0, 1, 7, u32::MAX] {
            let (up, down) = (share.rounded_up(whole), share.rounded_down(whole));
            promise(down <= up && up - down <= 1, || format!("{text} of {whole} is {down} to {up}"))?;
        }
    }
    let windows = Windows::parse(&text, |zone| TimeZone::get(zone).ok());
    if let Ok(windows) = &windows {
        open(windows)?;
    }
    let reboots = Reboots::parse(Some(&text));
    promise(Reboots::parse(Some(&reboots.render())).times() == reboots.times(), || {
        "reboots are lost".to_owned()
    })?;
    let raw =
        selector::RawRequirement { key: "k".into(), operator: text.to_string(), values: vec!["v".into()] };
    let selected = selector::Selector::parse(&selector::Labels::new(), [raw]);
    Ok(shape.and(Shape::of_result(&share)).and(Shape::of_result(&windows)).and(Shape::of_result(&selected)))
}

fn of_duration(text: &str) -> Result<Result<jiff::SignedDuration, duration::Error>, String> {
    let read = duration::parse(text);
    if let Ok(length) = read {
        let written = duration::format(length);
        promise(duration::parse(&written) == Ok(length), || format!("{text} is {length:?} is {written}"))?;
    }
    Ok(read)
}

/// At any time, a window ends or begins after it.
fn open(windows: &Windows) -> Result<(), String> {
    let times = [0, 1_800_000_000, 1_774_746_000, 1_792_890_000, -377_705_023_201, 253_402_207_200];
    for now in times.into_iter().filter_map(|second| Timestamp::from_second(second).ok()) {
        let (Opening::Open { until } | Opening::Closed { until }) = windows.opening(now);
        promise(until > now || now >= Timestamp::MAX, || format!("at {now} it lasts until {until}"))?;
    }
    Ok(())
}
