//! Maintenance windows: when work that can wait may be done.
//!
//! Written as days, hours and a time zone, several separated by `;`: `Mon-Fri 22:00-06:00 Europe/Berlin; Sat,Sun
//! 00:00-24:00 UTC`. Days are those on which a window opens; a window that ends before it begins ends on the next day.
//! Hours are local times, also on days with a clock change.

use jiff::civil::{Date, DateTime, Weekday};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

#[derive(Clone, Debug, PartialEq)]
pub struct Windows(Vec<Window>);

#[derive(Clone, Debug, PartialEq)]
struct Window {
    days: Vec<Weekday>,
    begin: Minute,
    end: Minute,
    zone: TimeZone,
}

/// Minutes since midnight, up to the midnight after.
type Minute = i16;

const DAY: Minute = 24 * 60;

/// Each window opens at least once in this many days.
const WEEK: i64 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// A window is open; `until` is the end of the last window that follows without a gap.
    Open { until: Timestamp },
    Closed {
        /// When the next one opens.
        until: Timestamp,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("no maintenance window is written: write one such as \"Mon-Fri 22:00-06:00 Europe/Berlin\"")]
    Empty,
    #[error(
        "maintenance window {0:?} is not days, hours and a time zone, such as \"Mon-Fri 22:00-06:00 Europe/Berlin\""
    )]
    Words(String),
    #[error("{0:?} are not days such as Mon, Mon-Fri, or Sat,Sun")]
    Days(String),
    #[error("{0:?} are not hours such as 22:00-06:00")]
    Hours(String),
    #[error("{0:?} is not a time zone such as Europe/Berlin or UTC")]
    Zone(String),
}

impl Windows {
    /// Reads windows. Time zones are looked up by `zone`.
    ///
    /// # Errors
    ///
    /// For the first thing that cannot be understood.
    pub fn parse(text: &str, zone: impl Fn(&str) -> Option<TimeZone>) -> Result<Self, Error> {
        let texts = text.split(';').map(str::trim).filter(|text| !text.is_empty());
        let windows: Vec<Window> = texts.map(|text| window(text, &zone)).collect::<Result<_, _>>()?;
        if windows.is_empty() { Err(Error::Empty) } else { Ok(Self(windows)) }
    }

    /// Whether one is open.
    pub fn opening(&self, now: Timestamp) -> Opening {
        let mut spans: Vec<(Timestamp, Timestamp)> =
            self.0.iter().flat_map(|window| window.around(now)).filter(|(_, end)| *end > now).collect();
        spans.sort();
        let first = spans.first().copied();
        match first {
            Some((begin, end)) if begin <= now => {
                // One that begins before this one ends extends it.
                let until = spans.iter().fold(
                    end,
                    |until, (begin, end)| {
                        if *begin <= until { until.max(*end) } else { until }
                    },
                );
                Opening::Open { until }
            }
            Some((begin, _)) => Opening::Closed { until: begin },
            // Only at the end of all time.
            None => Opening::Closed { until: Timestamp::MAX },
        }
    }
}

impl Window {
    /// When it is open, from the day before on and for a week.
    fn around(&self, now: Timestamp) -> Vec<(Timestamp, Timestamp)> {
        let today = now.to_zoned(self.zone.clone()).date();
        let days = (-1..=WEEK).filter_map(|days| today.checked_add(days.days()).ok());
        let opens = days.filter(|day| self.days.contains(&day.weekday()));
        opens.filter_map(|day| Some((self.at(day, self.begin)?, self.at(day, self.last())?))).collect()
    }

    fn last(&self) -> Minute {
        if self.end <= self.begin { self.end + DAY } else { self.end }
    }

    /// A skipped local time is the one after; an ambiguous one is the first.
    fn at(&self, day: Date, minute: Minute) -> Option<Timestamp> {
        let day = day.checked_add(i64::from(minute / DAY).days()).ok()?;
        let (hour, minute) = (minute % DAY / 60, minute % 60);
        let at: DateTime = day.at(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0);
        self.zone.to_ambiguous_zoned(at).compatible().ok().map(|zoned| zoned.timestamp())
    }
}

fn window(text: &str, zone: &impl Fn(&str) -> Option<TimeZone>) -> Result<Window, Error> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [days_text, hours_text, zone_text] = words.as_slice() else {
        return Err(Error::Words(reported(text)));
    };
    let days = days(days_text).ok_or_else(|| Error::Days(reported(days_text)))?;
    let (begin, end) = hours(hours_text).ok_or_else(|| Error::Hours(reported(hours_text)))?;
    let zone = zone(zone_text).ok_or_else(|| Error::Zone(reported(zone_text)))?;
    Ok(Window { days, begin, end, zone })
}

/// Longer texts are cut in messages.
fn reported(text: &str) -> String {
    text.chars().take(60).collect()
}

fn days(text: &str) -> Option<Vec<Weekday>> {
    let mut days = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            None => days.push(day(part)?),
            Some((first, last)) => {
                let (first, last) = (day(first)?, day(last)?);
                let span = first.cycle_forward().take(7);
                let before_last = span.take_while(|day| *day != last);
                days.extend(before_last);
                days.push(last);
            }
        }
    }
    Some(days)
}

fn day(text: &str) -> Option<Weekday> {
    match text {
        "Mon" => Some(Weekday::Monday),
        "Tue" => Some(Weekday::Tuesday),
        "Wed" => Some(Weekday::Wednesday),
        "Thu" => Some(Weekday::Thursday),
        "Fri" => Some(Weekday::Friday),
        "Sat" => Some(Weekday::Saturday),
        "Sun" => Some(Weekday::Sunday),
        _ => None,
    }
}

fn hours(text: &str) -> Option<(Minute, Minute)> {
    let (begin, end) = text.split_once('-')?;
    let (begin, end) = (minute(begin)?, minute(end)?);
    (begin < DAY && begin != end).then_some((begin, end))
}

fn minute(text: &str) -> Option<Minute> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| {
        let is_plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| text.parse::<Minute>().ok()).flatten()
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let minutes = hour * 60 + minute;
    (minute < 60 && minutes <= DAY).then_some(minutes)
}

/// Returns the time until then, never negative.
pub fn left(until: Timestamp, now: Timestamp) -> SignedDuration {
    until.duration_since(now).max(SignedDuration::ZERO)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Central Europe by its rule, so that no database is needed.
    fn zone(name: &str) -> Option<TimeZone> {
        match name {
            "UTC" => Some(TimeZone::UTC),
            "Europe/Berlin" => TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").ok(),
            _ => None,
        }
    }

    fn windows(text: &str) -> Windows {
        Windows::parse(text, zone).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn check(text: &str, now: &str, expected: &str) {
        let reported = match windows(text).opening(at(now)) {
            Opening::Open { until } => format!("open until {until}"),
            Opening::Closed { until } => format!("closed until {until}"),
        };
        assert_eq!(reported, expected, "{text} at {now}");
    }

    // 22 November 2026 is a Sunday.

    #[test]
    fn a_window_is_open_on_its_days_in_its_hours() {
        check("Sun 06:00-08:00 UTC", "2026-11-22T05:59:59Z", "closed until 2026-11-22T06:00:00Z");
        check("Sun 06:00-08:00 UTC", "2026-11-22T06:00:00Z", "open until 2026-11-22T08:00:00Z");
        check("Sun 06:00-08:00 UTC", "2026-11-22T08:00:00Z", "closed until 2026-11-29T06:00:00Z");
        check("Mon-Fri 06:00-08:00 UTC", "2026-11-22T07:00:00Z", "closed until 2026-11-23T06:00:00Z");
        check("Sat-Mon 06:00-08:00 UTC", "2026-11-22T07:00:00Z", "open until 2026-11-22T08:00:00Z");
    }

    #[test]
    fn a_window_that_ends_before_it_begins_ends_on_the_next_day() {
        check("Sat 22:00-06:00 UTC", "2026-11-22T05:00:00Z", "open until 2026-11-22T06:00:00Z");
        check("Sun 22:00-06:00 UTC", "2026-11-22T05:00:00Z", "closed until 2026-11-22T22:00:00Z");
    }

    #[test]
    fn windows_that_touch_are_one() {
        check("Sat,Sun 00:00-24:00 UTC", "2026-11-21T12:00:00Z", "open until 2026-11-23T00:00:00Z");
        check(
            "Sun 06:00-08:00 UTC; Sun 07:00-09:00 UTC",
            "2026-11-22T06:30:00Z",
            "open until 2026-11-22T09:00:00Z",
        );
    }

    #[test]
    fn hours_are_those_on_the_wall_also_when_clocks_change() {
        // Winter and summer.
        check("Sun 06:00-08:00 Europe/Berlin", "2026-11-22T05:30:00Z", "open until 2026-11-22T07:00:00Z");
        check("Sun 06:00-08:00 Europe/Berlin", "2026-07-05T04:30:00Z", "open until 2026-07-05T06:00:00Z");
        // 02:30 is skipped on 29 March and shown twice on 25 October.
        check("Sun 02:30-05:00 Europe/Berlin", "2026-03-29T00:00:00Z", "closed until 2026-03-29T01:30:00Z");
        check("Sun 02:30-05:00 Europe/Berlin", "2026-10-25T00:45:00Z", "open until 2026-10-25T04:00:00Z");
    }

    #[test]
    fn what_is_no_window_is_named() {
        let error = |text: &str| Windows::parse(text, zone).unwrap_err().to_string();
        for (text, wrong) in [
            ("Mon 22:00-06:00", "is not days, hours and a time zone"),
            ("Monday 22:00-06:00 UTC", "\"Monday\" are not days"),
            ("Mon 22-06 UTC", "\"22-06\" are not hours"),
            ("Mon 24:00-25:00 UTC", "are not hours"),
            ("Mon 22:60-23:00 UTC", "are not hours"),
            ("Mon 22:00-22:00 UTC", "are not hours"),
            ("Mon 22:00-06:00 Mars/Base", "\"Mars/Base\" is not a time zone"),
            (" ; ", "no maintenance window"),
        ] {
            assert!(error(text).contains(wrong), "{text}: {}", error(text));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = Windows::parse(&text, zone);
        }

        #[test]
        fn at_the_end_of_an_answer_there_is_another_one(second in 0_i64..4_000_000_000, begin in 0_i16..1440, end in 0_i16..1440) {
            prop_assume!(begin != end);
            let hour = |minute: i16| format!("{:02}:{:02}", minute / 60, minute % 60);
            let text = format!("Mon,Wed-Fri {}-{} Europe/Berlin", hour(begin), hour(end));
            let windows = windows(&text);
            let now = Timestamp::from_second(second).unwrap();
            match windows.opening(now) {
                Opening::Open { until } => {
                    prop_assert!(until > now);
                    let is_closed = matches!(windows.opening(until), Opening::Closed { .. });
                    prop_assert!(is_closed);
                }
                Opening::Closed { until } => {
                    prop_assert!(until > now);
                    let is_open = matches!(windows.opening(until), Opening::Open { .. });
                    prop_assert!(is_open);
                }
            }
        }
    }
}
