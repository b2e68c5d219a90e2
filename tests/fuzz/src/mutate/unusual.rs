//! Values over which parsers stumble.

use serde_json::{Value, json};

use crate::rng::Rng;

/// Texts that end, escape, repeat, command, or turn around what they are in.
const TEXTS: [&str; 44] = [
    "", " ", "\0", "\n", "\r\n", "\t", "\"", "'", "\\", "\\u0000", "\u{7f}", "\u{1b}[2J", "\u{85}",
    "\u{202e}", "\u{feff}", "\u{2028}", "\u{fffd}", "\u{10ffff}", "ä", "é\u{301}", "👩\u{200d}👧",
    "../../etc/passwd", "/", "//", "%00", "%2e%2e%2f", "%252e", "%", "*", "*.*", "-", "--help", "=", "==",
    ",", ";", "${x}", "<![CDATA[", "&amp;", "&a *a", "!!binary AA", "{{", "<<BOOTSTRAP_TOKEN>>",
    "https://a:b@[::1]:0/?#",
];

/// Numbers at the edges of their types, and words that some languages take for values.
const NUMBERS: [&str; 26] = [
    "0", "-0", "-1", "1", "2", "127", "255", "256", "65535", "65536", "2147483647", "2147483648",
    "-2147483649", "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "18446744073709551615", "18446744073709551616", "1e999", "-1e-999", "0.1", "NaN", "100%", "-1%",
    "99999999999999999999999999999999h",
];

/// Times, dates and lengths that calendars and clocks do not have, or hardly.
const TIMES: [&str; 10] = [
    "0000-00-00T00:00:00Z", "-009999-01-02T01:59:59Z", "9999-12-31T23:59:59.999999999Z",
    "2026-02-30T00:00:00Z", "2026-01-01T24:00:60Z", "1969-12-31T23:59:59Z", "2026-01-01T00:00:00+99:99",
    "2026-01-01T00:00:00.000000000000001Z", "2562047h47m16.854775807s", "-1ns",
];

/// A text of this kind, or a word of the dictionary.
pub(super) fn text(dictionary: &[&str], rng: &mut Rng) -> String {
    let kinds = if dictionary.is_empty() { 4 } else { 6 };
    match rng.below(kinds) {
        0 => pick(&NUMBERS, rng),
        1 if rng.once_in(3) => pick(&TIMES, rng),
        1 => pick(&TEXTS, rng).repeat(1 + rng.length(2_000)),
        2 | 3 => pick(&TEXTS, rng),
        _ => pick(dictionary, rng),
    }
}

/// A value of any type.
pub(super) fn value(dictionary: &[&str], rng: &mut Rng) -> Value {
    match rng.below(9) {
        0 => Value::Null,
        1 => json!(rng.once_in(2)),
        2 => json!([]),
        3 => json!({}),
        4 => json!(rng.number()),
        5 => pick(&NUMBERS, rng).parse::<serde_json::Number>().map_or(Value::Null, Value::Number),
        6 => nested(rng),
        _ => Value::String(text(dictionary, rng)),
    }
}

/// Deeper than any document is. `serde_json` stops at 128.
fn nested(rng: &mut Rng) -> Value {
    let is_list = rng.once_in(2);
    (0..rng.length(140))
        .fold(Value::Null, |inner, _| if is_list { json!([inner]) } else { json!({ "a": inner }) })
}

fn pick(choices: &[&str], rng: &mut Rng) -> String {
    rng.pick(choices).copied().unwrap_or_default().to_owned()
}
