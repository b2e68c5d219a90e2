//! Durations as Go writes them, as in all fields and flags: `20m`, `1h30m`, `1.5h`, `300ms`.

use std::fmt::Write as _;

use jiff::SignedDuration;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing, or only a sign.
    #[error("a duration is empty")]
    Empty,
    #[error("duration {text:?} has no number before {rest:?}")]
    NoNumber { text: String, rest: String },
    /// A number other than 0 has no unit.
    #[error("duration {text:?} has a number without a unit (ns, us, ms, s, m or h)")]
    NoUnit { text: String },
    #[error("duration {text:?} has the unknown unit {unit:?} (known are ns, us, ms, s, m and h)")]
    UnknownUnit { text: String, unit: String },
    /// More than 2^63 nanoseconds, about 292 years.
    #[error("duration {text:?} is too long (the limit is about 292 years)")]
    TooLong { text: String },
}

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Digits of a fraction beyond this do not make a nanosecond, even of an hour.
const FRACTION_DIGITS: usize = 18;

/// Reads a duration.
///
/// Accepts the syntax of Go's `time.ParseDuration`, with the same meaning and the same limits: an optional sign, then
/// one or more decimal numbers with a unit each, in any order and number; a lone `0` needs no unit. Blanks are errors.
///
/// # Errors
///
/// For everything else. No text makes it panic.
pub fn parse(text: &str) -> Result<SignedDuration, Error> {
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned == "0" {
        return Ok(SignedDuration::ZERO);
    }
    if unsigned.is_empty() {
        return Err(Error::Empty);
    }
    let too_long = || Error::TooLong { text: text.to_owned() };
    let mut nanos: i128 = 0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let (part, after) = part(text, rest)?;
        // The sum is checked at each step, so that it stays far from the limits of its type.
        nanos = nanos.checked_add(part).filter(|sum| *sum <= -i128::from(i64::MIN)).ok_or_else(too_long)?;
        rest = after;
    }
    let signed = if is_negative { -nanos } else { nanos };
    i64::try_from(signed).map(SignedDuration::from_nanos).map_err(|_| too_long())
}

/// Reads one number with its unit from the front of `rest`, in nanoseconds.
fn part<'a>(text: &str, rest: &'a str) -> Result<(i128, &'a str), Error> {
    let (whole, after_whole) = digits(rest);
    let (fraction, after_number) = match after_whole.strip_prefix('.') {
        Some(after_dot) => digits(after_dot),
        None => ("", after_whole),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(Error::NoNumber { text: text.to_owned(), rest: rest.to_owned() });
    }
    let end = after_number.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after_number.len());
    let (unit, after) = after_number.split_at(end);
    let unit_nanos: i128 = match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOS_PER_SECOND,
        "m" => 60 * NANOS_PER_SECOND,
        "h" => 3_600 * NANOS_PER_SECOND,
        "" => return Err(Error::NoUnit { text: text.to_owned() }),
        _ => return Err(Error::UnknownUnit { text: text.to_owned(), unit: unit.to_owned() }),
    };
    let whole: u64 = match whole {
        "" => 0,
        _ => whole.parse().map_err(|_| Error::TooLong { text: text.to_owned() })?,
    };
    let (mut numerator, mut denominator) = (0_i128, 1_i128);
    for digit in fraction.bytes().take(FRACTION_DIGITS) {
        numerator = numerator * 10 + i128::from(digit - b'0');
        denominator *= 10;
    }
    Ok((i128::from(whole) * unit_nanos + numerator * unit_nanos / denominator, after))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Writes a duration as Go does: `20m0s`, `1h30m0s`, `1.5s`, `300ms`, `0s`.
///
/// [`parse`] reads it back to the same value, within Go's limits.
pub fn format(duration: SignedDuration) -> String {
    let nanos = duration.as_nanos();
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{nanos}ns"),
        1_000..1_000_000 => format!("{sign}{}\u{b5}s", decimal(nanos, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", decimal(nanos, 1_000_000)),
        _ => {
            let per_second = NANOS_PER_SECOND.unsigned_abs();
            let (minutes, seconds) = (nanos / (60 * per_second), nanos % (60 * per_second));
            let mut text = sign.to_owned();
            // Writing to a String cannot fail.
            let _ = match (minutes / 60, minutes % 60) {
                (0, 0) => Ok(()),
                (0, minutes) => write!(text, "{minutes}m"),
                (hours, minutes) => write!(text, "{hours}h{minutes}m"),
            };
            text + &decimal(seconds, per_second) + "s"
        }
    }
}

/// `nanos` in units of `unit` nanoseconds, without trailing zeros.
fn decimal(nanos: u128, unit: u128) -> String {
    let (whole, fraction) = (nanos / unit, nanos % unit);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    format!("{whole}.{fraction:0width$}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, nanos: i64, formatted: &str) {
        assert_eq!(parse(text), Ok(SignedDuration::from_nanos(nanos)), "{text}");
        assert_eq!(format(SignedDuration::from_nanos(nanos)), formatted, "{text}");
    }

    fn check_error(text: &str, expected: &Expect) {
        expected.assert_eq(&parse(text).unwrap_err().to_string());
    }

    #[test]
    fn durations_mean_and_look_what_they_do_in_go() {
        const SECOND: i64 = 1_000_000_000;
        check("20m", 1_200 * SECOND, "20m0s");
        check("1h30m", 5_400 * SECOND, "1h30m0s");
        check("1.5h", 5_400 * SECOND, "1h30m0s");
        check("300ms", 300_000_000, "300ms");
        check("-5s", -5 * SECOND, "-5s");
        check("+5s", 5 * SECOND, "5s");
        check("0", 0, "0s");
        check("-0", 0, "0s");
        check("0s", 0, "0s");
        check("1.s", SECOND, "1s");
        check(".5s", SECOND / 2, "500ms");
        check("1m1m1m", 180 * SECOND, "3m0s");
        check("1s2h", 7_201 * SECOND, "2h0m1s");
        check("96h", 345_600 * SECOND, "96h0m0s");
        check("1.5us", 1_500, "1.5\u{b5}s");
        check("7\u{b5}s", 7_000, "7\u{b5}s");
        check("7\u{3bc}s", 7_000, "7\u{b5}s");
        check("1ns", 1, "1ns");
        check("90.05s", 90 * SECOND + SECOND / 20, "1m30.05s");
        check("0.3333333333333333333h", 1_200 * SECOND - 1, "19m59.999999999s");
        check("9223372036854775807ns", i64::MAX, "2562047h47m16.854775807s");
        check("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s");
    }

    #[test]
    fn what_is_no_duration_is_refused_with_a_reason() {
        check_error("", &expect!["a duration is empty"]);
        check_error("-", &expect!["a duration is empty"]);
        check_error("20", &expect![[r#"duration "20" has a number without a unit (ns, us, ms, s, m or h)"#]]);
        check_error(
            "1h30",
            &expect![[r#"duration "1h30" has a number without a unit (ns, us, ms, s, m or h)"#]],
        );
        check_error(
            "3d",
            &expect![[r#"duration "3d" has the unknown unit "d" (known are ns, us, ms, s, m and h)"#]],
        );
        check_error(
            "5 m",
            &expect![[r#"duration "5 m" has the unknown unit " m" (known are ns, us, ms, s, m and h)"#]],
        );
        check_error("m", &expect![[r#"duration "m" has no number before "m""#]]);
        check_error(".s", &expect![[r#"duration ".s" has no number before ".s""#]]);
        check_error("--5s", &expect![[r#"duration "--5s" has no number before "-5s""#]]);
        check_error(" 5s", &expect![[r#"duration " 5s" has no number before " 5s""#]]);
    }

    #[test]
    fn what_go_could_not_hold_is_too_long() {
        for text in ["9223372036854775808ns", "-9223372036854775809ns", "2562048h", "99999999999999999999h"] {
            assert_eq!(parse(text), Err(Error::TooLong { text: text.to_owned() }));
        }
        let many = "2562047h".repeat(1_000);
        assert_eq!(parse(&many), Err(Error::TooLong { text: many.clone() }));
    }

    #[test]
    fn any_length_can_be_written() {
        assert_eq!(format(SignedDuration::MAX), "2562047788015215h30m7.999999999s");
        assert_eq!(format(SignedDuration::MIN), "-2562047788015215h30m8.999999999s");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = parse(&text);
        }

        #[test]
        fn no_text_that_looks_like_a_duration_makes_it_panic(text in "[-+]?([0-9]{0,25}\\.?[0-9]{0,25}(ns|us|ms|s|m|h|d|\u{b5}s)?){0,5}") {
            if let Ok(duration) = parse(&text) {
                prop_assert_eq!(parse(&format(duration)), Ok(duration));
            }
        }

        #[test]
        fn what_was_written_reads_back(nanos in any::<i64>()) {
            let duration = SignedDuration::from_nanos(nanos);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }
    }
}
