//! Templates of user data, and Secrets of bootstrap tokens.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use machinist_core::driver::bootstrap_token::{self, Existing, ExistingSecret, Token, field, on_existing};
use machinist_core::driver::user_data::{BOOTSTRAP_TOKEN, MACHINE_NAME, render};
use machinist_core::value::id::Uid;

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(super) const TARGET: Target = Target {
    name: "user-data",
    about: "templates of user data and Secrets of bootstrap tokens: all else of a template is carried over",
    grammar: Grammar::Text,
    samples,
    words: &[
        BOOTSTRAP_TOKEN, MACHINE_NAME, "%3C%3CBOOTSTRAP_TOKEN%3E%3E", "%3C%3CMACHINE_NAME%3E%3E", "<<", ">>",
    ],
    share: 40,
    check,
};

const TOKEN: &str = "abcdef.0123456789abcdef";
const NAME: &str = "shoot--a--b-1";

fn samples() -> Vec<Vec<u8>> {
    let mut all = samples::texts(&[
        "#!/bin/sh\njoin --token=<<BOOTSTRAP_TOKEN>> --name=<<MACHINE_NAME>>\n",
        "{\"ignition\":{\"config\":{\"files\":[{\"source\":\"data:,%3C%3CBOOTSTRAP_TOKEN%3E%3E\"}]}}}",
        "2026-01-01T00:00:00Z",
    ]);
    all.push(bootstrap_token::id(&Uid::new("u"), 0).into_bytes());
    all
}

fn check(input: &[u8]) -> Verdict {
    let rendered = render(input, Some(TOKEN), NAME);
    // In one pass: what is left may look like a placeholder, and is none.
    let without = |text: &[u8]| {
        let (text, mut left) = (String::from_utf8_lossy(text).into_owned(), String::new());
        let mut rest = text.as_str();
        let next = |rest: &str| {
            let places = [BOOTSTRAP_TOKEN, MACHINE_NAME].map(|it| Some((rest.find(it)?, it.len())));
            places.into_iter().flatten().min()
        };
        while let Some((at, length)) = next(rest) {
            left.push_str(&rest[..at]);
            rest = &rest[at + length..];
        }
        left + rest
    };
    if !String::from_utf8_lossy(input).contains("%3C") && !String::from_utf8_lossy(input).contains(NAME) {
        let back = String::from_utf8_lossy(&rendered.user_data).replace(TOKEN, "").replace(NAME, "");
        let is_carried = back == without(input).replace(TOKEN, "");
        promise(is_carried, || "a template is changed beside its placeholders".to_owned())?;
    }
    promise(!format!("{rendered:?}").contains("0123456789"), || "a token is shown".to_owned())?;
    let as_it_is = render(input, None, "");
    promise(
        !input.windows(NAME.len()).any(|window| window == NAME.as_bytes())
            || as_it_is.user_data.len() <= input.len(),
        || "a template grows".to_owned(),
    )?;
    Ok(Shape::of(&format!("{rendered:?}")).and(secret(input)?))
}

/// A Secret that somebody has edited is kept, put off or found damaged; another's is left alone.
fn secret(input: &[u8]) -> Result<Shape, String> {
    let uid = Uid::new("u");
    let fields = BTreeMap::from([
        (field::TOKEN_ID.to_owned(), bootstrap_token::id(&uid, 0).into_bytes()),
        (field::TOKEN_SECRET.to_owned(), b"0123456789abcdef".to_vec()),
        (field::EXPIRATION.to_owned(), input.to_vec()),
    ]);
    let now = Timestamp::from_second(1_800_000_000).unwrap_or_default();
    let wanted = now + SignedDuration::from_mins(20);
    let decided = on_existing(ExistingSecret { owner: Some("u"), fields: &fields }, &uid, 0, now, wanted);
    promise(matches!(decided, Existing::Keep { .. } | Existing::Extend { .. }), || {
        "a token is lost by its time".to_owned()
    })?;
    let text = String::from_utf8_lossy(input);
    let owner = on_existing(ExistingSecret { owner: Some(&text), fields: &fields }, &uid, 0, now, wanted);
    promise(text == "u" || owner == Existing::ForeignTryNext, || "another's token is used".to_owned())?;
    let token = text.split_once('.').and_then(|(id, secret)| Token::new(id, secret));
    Ok(Shape::of(&format!("{:?}", std::mem::discriminant(&decided))).and(Shape::of(&format!("{token:?}"))))
}
