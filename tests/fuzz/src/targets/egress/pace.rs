//! Answers of clouds about pace, clocks and keys.

use http::header::{DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use jiff::Timestamp;
use machinist_plugin_host::testing::fuzz::cloud_says;

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict};

pub(crate) const TARGET: Target = Target {
    name: "pace",
    about: "answers of clouds that complain: Retry-After, Date, and codes in XML and JSON",
    grammar: Grammar::Text,
    samples,
    words: &[
        "retry-after: ", "date: ", "Mon, 23 Nov 2026 01:58:38 GMT", "<Code>RequestLimitExceeded</Code>",
        "\"ThrottlingException\"", "<Code>ExpiredToken</Code>", "GMT", "+9999",
        "Sun, 31 Dec 9999 23:59:60 -2359",
    ],
    share: 20,
    check,
};

fn samples() -> Vec<Vec<u8>> {
    samples::texts(&[
        "retry-after: 120\ndate: Mon, 23 Nov 2026 01:58:38 GMT\n\n<Error><Code>Throttling</Code></Error>",
        "retry-after: Mon, 23 Nov 2026 01:59:38 GMT\ndate: Mon, 23 Nov 2026 01:58:38 GMT\n\n{\"code\": \"TooManyRequests\"}",
        "retry-after: Fri, 01 Jan 9999 00:00:00 GMT\ndate: Thu, 01 Jan 1970 00:00:00 GMT\n\n<Code>ExpiredToken</Code>",
    ])
}

/// Headers in lines, an empty line, and the body.
pub(crate) fn split(input: &[u8]) -> (HeaderMap, &[u8]) {
    let end = input.windows(2).position(|pair| pair == b"\n\n").unwrap_or(input.len());
    let mut headers = HeaderMap::new();
    for line in input.get(..end).unwrap_or_default().split(|byte| *byte == b'\n') {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let name = HeaderName::from_bytes(line.get(..colon).unwrap_or_default());
        let value = HeaderValue::from_bytes(line.get(colon + 1..).unwrap_or_default().trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    (headers, input.get(end + 2..).unwrap_or_default())
}

fn check(input: &[u8]) -> Verdict {
    let (headers, body) = split(input);
    let clocks = [Timestamp::UNIX_EPOCH, Timestamp::from_second(1_800_000_000).unwrap_or_default()];
    let said = clocks.map(|now| cloud_says(&headers, body, now));
    let known = [RETRY_AFTER, DATE].map(|name| headers.contains_key(name));
    Ok(Shape::of(&said.join(" ")).and(Shape::of(&format!("{known:?}"))))
}
