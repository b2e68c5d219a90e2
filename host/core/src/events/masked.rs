//! Texts of clouds without the ids that differ in each of their answers.

/// Shorter runs of hexadecimal digits are words and numbers that mean something.
const HEX_DIGITS: usize = 8;

/// A run of letters and digits that is this long and has at least [`DIGITS`] digits is an id in some other alphabet.
const MIXED: usize = 16;

const DIGITS: usize = 2;

/// The replacement of each id.
const MASK: char = '*';

/// Returns the text with each id replaced by one character: uuids, runs of eight or more hexadecimal digits, longer
/// runs of mixed letters and digits, and points in time. Two errors that differ in nothing else are the same error.
///
/// The result is for comparison only. It never ends up in front of a person.
pub fn masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if !first.is_ascii_alphanumeric() {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if let Some(length) = uuid(rest).or_else(|| time(rest)) {
            out.push(MASK);
            rest = &rest[length..];
            continue;
        }
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let run = &rest[..length];
        if is_id(run) {
            out.push(MASK);
        } else {
            out.push_str(run);
        }
        rest = &rest[length..];
    }
    out
}

fn is_id(run: &str) -> bool {
    let is_hex = run.len() >= HEX_DIGITS && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex || (run.len() >= MIXED && run.bytes().filter(u8::is_ascii_digit).count() >= DIGITS)
}

/// The length of the uuid that the text begins with.
fn uuid(text: &str) -> Option<usize> {
    follows(text, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
}

/// The length of the point in time that the text begins with, in the form that machines write.
fn time(text: &str) -> Option<usize> {
    let at = follows(text, "dddd-dd-ddTdd:dd:dd").or_else(|| follows(text, "dddd-dd-dd dd:dd:dd"))?;
    let rest = &text.as_bytes()[at..];
    let fraction = match rest.first() {
        Some(b'.' | b',') => 1 + rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    let zone = usize::from(rest.get(fraction) == Some(&b'Z'));
    Some(at + fraction + zone)
}

/// The length of a pattern that the text begins with: `x` is a hexadecimal digit, `d` a decimal one, all else itself.
fn follows(text: &str, pattern: &str) -> Option<usize> {
    let head = text.as_bytes().get(..pattern.len())?;
    let fits = head.iter().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
        b'x' => byte.is_ascii_hexdigit(),
        b'd' => byte.is_ascii_digit(),
        other => *byte == other,
    });
    fits.then_some(pattern.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ids_of_requests_are_masked_and_what_they_are_about_is_not() {
        for (text, expected) in [
            ("", ""),
            ("no capacity in zone eu-1a", "no capacity in zone eu-1a"),
            (
                "quota exceeded, request id: 7f1a3b1c-0d2e-4f5a-9b8c-7d6e5f4a3b2c.",
                "quota exceeded, request id: *.",
            ),
            ("RequestID=4442587FB7D0A2F9", "RequestID=*"),
            ("req-7f1a3b1c-0d2e-4f5a-9b8c-7d6e5f4a3b2c failed", "req-* failed"),
            ("operation-1699999999999-60a1b2c3d4e5f-abcdef12-12345678", "operation-*-*-*-*"),
            ("host id 0Q7P1JC3RV8YB5T1xyz", "host id *"),
            ("at 2026-11-23T19:25:01.123Z it broke", "at * it broke"),
            ("at 2026-11-23 19:25:01 it broke", "at * it broke"),
            ("limit is 42 of 1000000 in pool worker-7c9d8", "limit is 42 of 1000000 in pool worker-7c9d8"),
            ("InsufficientInstanceCapacity", "InsufficientInstanceCapacity"),
            ("größe 4442587fb7d0a2f9 ü", "größe * ü"),
        ] {
            assert_eq!(masked(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_and_masking_again_changes_nothing(text in any::<String>()) {
            let once = masked(&text);
            prop_assert_eq!(masked(&once), once);
        }

        #[test]
        fn two_uuids_make_no_difference(one in "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", two in "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}") {
            prop_assert_eq!(masked(&format!("failed ({one})")), masked(&format!("failed ({two})")));
        }
    }
}
