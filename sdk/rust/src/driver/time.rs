//! Times as clouds write them.

/// Parses an RFC 3339 time in UTC into milliseconds since 1970. `None` for anything else, and before 1970.
pub fn rfc3339_ms(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(time, ':')?;
    let is_time =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !is_time || year < 1970 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    // Years begin in March here, so that the leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    // 719,468 days lie between the first of March of the year 0 and 1970.
    let seconds = ((days.checked_sub(719_468)? * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000 + millis)
}

fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let mut parts = text.split(between).map(|part| {
        let is_number = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse().ok()).flatten()
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_since_1970() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-01-02T03:04:05.678Z", Some(1_767_323_045_678)),
            ("2024-02-29T23:59:59.9Z", Some(1_709_251_199_900)),
            ("2000-03-01T00:00:00.123456789Z", Some(951_868_800_123)),
            ("1969-12-31T23:59:59Z", None),
            ("2026-13-02T03:04:05Z", None),
            ("2026-01-02T03:04:05+01:00", None),
            ("yesterday", None),
            ("2026-01-02T03:04:05.ä1Z", None),
        ];
        for (text, expected) in table {
            assert_eq!(rfc3339_ms(text), expected, "{text}");
            let judge: Option<jiff::Timestamp> = text.parse().ok().filter(|_| expected.is_some());
            assert_eq!(judge.and_then(|at| u64::try_from(at.as_millisecond()).ok()), expected, "{text}");
        }
    }
}
