//! The meaning of an answer for the pace and the credentials. Pure functions over status, headers and the beginning of
//! the body.

use std::time::Duration;

use http::header::{DATE, HeaderMap, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;

/// The part of an error's body that is read: codes are at its beginning.
pub(in crate::egress) const HEAD_BYTES: usize = 4 * 1024;

/// Codes by which clouds say "slower". A code that starts with `Throttl` counts as well.
const SLOWER: [&str; 10] = [
    "RequestLimitExceeded", "EC2ThrottledException", "TooManyRequestsException", "TooManyRequests",
    "RequestThrottled", "RequestThrottledException", "SlowDown", "BandwidthLimitExceeded",
    "PriorRequestNotComplete", "RateLimitExceeded",
];

/// Codes by which clouds say that the keys of the request are no good any more.
const STALE_KEYS: [&str; 5] = [
    "ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "UnrecognizedClientException",
    "AuthFailure",
];

/// The codes at the beginning of an error's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::egress) struct Codes {
    /// The cloud is asked too fast.
    pub(in crate::egress) slower: bool,
    /// The keys are expired or unknown.
    pub(in crate::egress) stale_keys: bool,
}

/// True for an answer whose status says "slower". A 503 without `Retry-After` is an outage like any other 5xx.
pub(in crate::egress) fn is_slower(status: StatusCode, retry_after: Option<Duration>) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || (status == StatusCode::SERVICE_UNAVAILABLE && retry_after.is_some())
}

/// Searches for codes: words between the marks that XML and JSON put around a code, so that a sentence that only
/// mentions a code does not count.
pub(in crate::egress) fn codes(head: &[u8]) -> Codes {
    let mut found = Codes::default();
    let mut before = None;
    let mut at = 0;
    while at < head.len() {
        let rest = head.get(at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        if length == 0 {
            before = rest.first().copied();
            at += 1;
            continue;
        }
        let (word, after) = rest.split_at(length);
        let is_enclosed = before.is_some_and(|byte| b">\"#".contains(&byte))
            && after.first().is_some_and(|byte| b"<\":".contains(byte));
        if let (true, Ok(word)) = (is_enclosed, std::str::from_utf8(word)) {
            found.slower |= word.starts_with("Throttl") || SLOWER.contains(&word);
            found.stale_keys |= STALE_KEYS.contains(&word);
        }
        before = None;
        at += length;
    }
    found
}

/// How long the answer asks to wait: seconds, or a date, read against the server's own clock where it tells it.
pub(in crate::egress) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let from = date(headers).unwrap_or(now);
    let wait = http_date(value)?.duration_since(from);
    Some(Duration::try_from(wait).unwrap_or_default())
}

/// By how many seconds the host's clock is ahead of the server's, when an error's `Date` is more than a minute off.
pub(in crate::egress) fn clock_skew_seconds(headers: &HeaderMap, now: Timestamp) -> Option<i64> {
    /// Below this, time on the way and rounding explain it, and no cloud refuses a signature for it.
    const TOLERATED_SECONDS: i64 = 60;
    let ahead = now.duration_since(date(headers)?).as_secs();
    (ahead.abs() > TOLERATED_SECONDS).then_some(ahead)
}

fn date(headers: &HeaderMap) -> Option<Timestamp> {
    http_date(headers.get(DATE).map(HeaderValue::to_str)?.ok()?)
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, slower: bool, stale_keys: bool) {
        assert_eq!(codes(body.as_bytes()), Codes { slower, stale_keys }, "{body}");
    }

    #[test]
    fn codes_are_found_in_xml_and_json() {
        check("<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>x</Message>", true, false);
        check("<ErrorResponse><Error><Code>Throttling</Code>", true, false);
        check(r#"{"__type":"com.amazonaws.x#ThrottlingException","message":"Rate exceeded"}"#, true, false);
        check(r#"{"code":"TooManyRequests"}"#, true, false);
        check("<Code>SlowDown</Code>", true, false);
        check("<Code>EC2ThrottledException</Code>", true, false);
        check("<Code>BandwidthLimitExceeded</Code>", true, false);
        check("<Error><Code>ExpiredToken</Code>", false, true);
        check(r#"{"__type":"ExpiredTokenException"}"#, false, true);
    }

    #[test]
    fn a_sentence_about_a_code_is_no_code() {
        check("<Message>You will see RequestLimitExceeded when SlowDown is needed</Message>", false, false);
        check("<Code>RequestLimitExceededX</Code>", false, false);
        check("<Code>InvalidParameterValue</Code><Message>ExpiredToken is no subnet</Message>", false, false);
        check("", false, false);
        check("Throttling", false, false);
        check("<Code>Throttling", false, false);
    }

    fn headers(pairs: &[(http::HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn retry_after_is_read_as_seconds_and_as_a_date() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let wait = |pairs: &[_]| retry_after(&headers(pairs), now);
        assert_eq!(wait(&[]), None);
        assert_eq!(wait(&[(RETRY_AFTER, "7")]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[(RETRY_AFTER, "soon")]), None);
        assert_eq!(wait(&[(RETRY_AFTER, "-3")]), None);
        assert_eq!(wait(&[(RETRY_AFTER, "Sun, 01 Mar 2026 12:00:30 GMT")]), Some(Duration::from_secs(30)));
        assert_eq!(wait(&[(RETRY_AFTER, "Sun, 01 Mar 2026 11:00:00 GMT")]), Some(Duration::ZERO));
        let skewed =
            [(RETRY_AFTER, "Sun, 01 Mar 2026 11:00:30 GMT"), (DATE, "Sun, 01 Mar 2026 11:00:00 GMT")];
        assert_eq!(wait(&skewed), Some(Duration::from_secs(30)), "the server's clock counts");
    }

    #[test]
    fn a_clock_is_off_when_it_is_more_than_a_minute() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let skew = |text: &'static str| clock_skew_seconds(&headers(&[(DATE, text)]), now);
        assert_eq!(skew("Sun, 01 Mar 2026 11:50:00 GMT"), Some(600));
        assert_eq!(skew("Sun, 01 Mar 2026 12:10:00 GMT"), Some(-600));
        assert_eq!(skew("Sun, 01 Mar 2026 11:59:00 GMT"), None);
        assert_eq!(skew("yesterday"), None);
        assert_eq!(clock_skew_seconds(&HeaderMap::new(), now), None);
    }
}
