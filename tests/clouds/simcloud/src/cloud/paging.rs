//! Cursors and page sizes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::request::Request;
use crate::wire::error::ApiError;

const DEFAULT_LIMIT: usize = 100;
const LARGEST_LIMIT: usize = 1000;

/// Which page is wanted.
#[derive(Debug)]
pub(crate) struct Page {
    /// Objects after this number.
    pub(crate) after: u64,
    /// At most so many.
    pub(crate) limit: usize,
}

impl Page {
    pub(crate) fn parse(request: &Request) -> Result<Self, ApiError> {
        let limit = match request.query("limit") {
            None => DEFAULT_LIMIT,
            Some(text) => text
                .parse()
                .ok()
                .filter(|limit| (1..=LARGEST_LIMIT).contains(limit))
                .ok_or_else(|| ApiError::invalid(format!("limit is not from 1 to {LARGEST_LIMIT}")))?,
        };
        let after = match request.query("cursor") {
            None | Some("") => 0,
            Some(cursor) => decode(cursor).ok_or_else(|| ApiError::invalid("the cursor is not valid"))?,
        };
        Ok(Self { after, limit })
    }

    /// Takes a page of what is found after the cursor; `found` gives number and value.
    pub(crate) fn take<T>(&self, found: impl Iterator<Item = (u64, T)>) -> (Vec<T>, Option<String>) {
        let mut values = Vec::new();
        let mut last = self.after;
        for (seq, value) in found {
            if values.len() == self.limit {
                return (values, Some(encode(last)));
            }
            values.push(value);
            last = seq;
        }
        (values, None)
    }
}

fn encode(seq: u64) -> String {
    URL_SAFE_NO_PAD.encode(format!("after:{seq}"))
}

fn decode(cursor: &str) -> Option<u64> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    text.strip_prefix("after:")?.parse().ok()
}
