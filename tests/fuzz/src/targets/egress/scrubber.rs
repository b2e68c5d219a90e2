//! The scrubber: what is left of a value in an answer, however a cloud spells it.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use bytes::Bytes;
use machinist_core::driver::SecretValues;
use machinist_plugin_host::Grants;
use machinist_plugin_host::testing::{MASK, Vault};
use serde_json::{Value, json};

use crate::mutate::Grammar;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "scrubber",
    about: "a value in an answer, in spellings of spellings and in pieces: no more than a piece of it is left",
    grammar: Grammar::Json,
    samples,
    words: &[
        "json", "url", "xml", "base64", "base64-url", "hex", "hex-colons", "lines", "indent", "upper",
        "lower", "utf16", "crlf", "escaped",
    ],
    share: 44,
    check,
};

/// Sets of letters and digits that no alphabet changes into one of another kind.
const SHORTEST: usize = 20;
/// So many characters of a value may be left: fewer are no piece, and at the borders of base64 some depend on a
/// neighbour.
const MOST_LEFT: usize = 25;
/// The longest spelling that is tried; with longer ones a run has few inputs.
const LONGEST: usize = 16 * 1024;

fn samples() -> Vec<Vec<u8>> {
    let plan = |value: &str, steps: &[&str], pieces: &[usize]| {
        json!({ "value": value, "steps": steps, "pieces": pieces, "before": "{\"error\": \"", "behind": "\"}" })
            .to_string()
            .into_bytes()
    };
    let key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzEXAMPLEKEY\n";
    let password = "hunter2-hunter2-\"Zx9\" & <more>\n";
    vec![
        plan(key, &[], &[3, 1, 50]),
        plan(key, &["base64", "lines"], &[7]),
        plan(key, &["json", "json"], &[1]),
        plan(password, &["url", "url"], &[100]),
        plan(password, &["xml", "indent"], &[2, 3]),
        plan(password, &["base64", "base64", "json"], &[11]),
        plan(key, &["hex-colons"], &[1, 2]),
        plan(password, &["utf16"], &[5]),
        plan("a-token.of_some~length.0123456789abcdef", &["upper"], &[4]),
        plan("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl", &["escaped"], &[4]),
    ]
}

fn check(input: &[u8]) -> Verdict {
    let plan: Value = serde_json::from_slice(input).unwrap_or_default();
    let Some(value) = plan["value"].as_str().filter(|value| is_credential(value)) else {
        return Ok(Shape::of("no credential"));
    };
    let mut steps: Vec<&str> =
        plan["steps"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    steps.truncate(4);
    let Some(spelled) = spelled(value, &steps) else { return Ok(Shape::of("not promised")) };
    let around = |name: &str| plan[name].as_str().unwrap_or_default().as_bytes().to_vec();
    let (before, behind) = (around("before"), around("behind"));
    let answer = [before.as_slice(), b" (: ", &spelled, b" :) ", behind.as_slice()].concat();
    let values = [("token".to_owned(), value.as_bytes().to_vec())].into();
    let vault = Vault::new(SecretValues { values, ..SecretValues::default() }, Arc::new(Grants::default()));
    let pieces: Vec<usize> = plan["pieces"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|piece| usize::try_from(piece.as_u64()?).ok())
        .filter(|piece| *piece > 0)
        .collect();
    // Escapes have several letters and digits for each of the value.
    let length = |text: &[u8]| bare(&String::from_utf8_lossy(text)).len().max(1);
    let most_left = MOST_LEFT * length(&spelled).max(length(value.as_bytes())) / length(value.as_bytes());
    for clean in [vault.scrub_bytes(&answer).into_owned(), streamed(&vault, &answer, &pieces)] {
        let left = left(&clean, &spelled, most_left);
        promise(left <= most_left, || {
            format!("{left} characters are left ({steps:?}): {:?}", String::from_utf8_lossy(&clean))
        })?;
    }
    Ok(Shape::of(&steps.join(" ")).and(Shape::of(if pieces.is_empty() { "whole" } else { "pieces" })))
}

/// True for a value that the vault promises to find in any spelling: long, and neither letters nor digits alone. URLs,
/// paths and addresses are found as a whole only, texts of several words by their lines.
fn is_credential(value: &str) -> bool {
    let value = value.trim_matches(|blank: char| blank.is_ascii_whitespace());
    let has = |kind: fn(&u8) -> bool| value.bytes().filter(kind).count() >= 4;
    let length = value.bytes().filter(u8::is_ascii_alphanumeric).count();
    value.len() <= 512
        && length >= SHORTEST
        && has(u8::is_ascii_alphabetic)
        && has(u8::is_ascii_digit)
        && value.is_ascii()
        && !value.bytes().any(|byte| byte.is_ascii_control())
        && !value.contains(['@', '\\', '%', '&'])
        && !value.contains(|blank: char| blank.is_ascii_whitespace())
        && !value.contains("://")
        && !value.starts_with(['/', '.', '{', '['])
        && !value.starts_with("arn:")
}

/// `None`: this is not among the spellings that are promised.
fn spelled(value: &str, steps: &[&str]) -> Option<Vec<u8>> {
    let (mut codings, mut escapes) = (0, 0);
    // A credential in another case authenticates nobody: an encoding of it is not promised.
    let mut is_cased = false;
    let mut is_indented = false;
    let mut is_escaped = false;
    let mut text = value.as_bytes().to_vec();
    for step in steps {
        let before = text.clone();
        text = match *step {
            // Blanks in another spelling would count as characters of the value that are left.
            _ if is_indented && !["crlf", "lines"].contains(step) => return None,
            "base64" | "base64-url" if codings < 2 => {
                codings += 1;
                let engine = if *step == "base64" { STANDARD } else { URL_SAFE };
                engine.encode(&text).into_bytes()
            }
            // Escapes inside UTF-16 or inside `\x`: no cloud and no library writes them.
            "utf16" | "escaped" if escapes > 0 => return None,
            "hex" | "hex-colons" | "utf16" | "escaped" if codings == 0 => {
                codings = 2;
                coded(&text, step)?
            }
            // Case means something in base64.
            "upper" if codings == 0 => text.to_ascii_uppercase(),
            "lower" if codings == 0 => text.to_ascii_lowercase(),
            // A line break could fall inside an escape.
            "lines" if is_escaped => return None,
            "json" | "url" | "xml" | "crlf" | "lines" | "indent" => escaped(&text, step)?,
            _ => return None,
        };
        if codings == 0 && text != before && ["json", "url", "xml"].contains(step) {
            // Of encodings around escapes, those are promised that a body in JSON or a form has.
            escapes += if *step == "xml" { 2 } else { 1 };
        }
        is_escaped |= ["url", "json", "xml", "utf16", "escaped"].contains(step) && text != before;
        is_indented |= *step == "indent";
        is_cased |= matches!(*step, "upper" | "lower") && text != before;
        if text.len() > LONGEST || (codings > 0 && (escapes > 1 || is_cased)) {
            return None;
        }
    }
    Some(text)
}

fn coded(text: &[u8], step: &str) -> Option<Vec<u8>> {
    let hex = |between: &str| text.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(between);
    Some(match step {
        "hex" => hex("").into_bytes(),
        "hex-colons" => hex(":").to_uppercase().into_bytes(),
        "utf16" => std::str::from_utf8(text).ok()?.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => text.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>().into_bytes(),
    })
}

fn escaped(text: &[u8], step: &str) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    Some(match step {
        "json" => serde_json::to_string(text).ok()?.trim_matches('"').to_owned().into_bytes(),
        "url" => url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().into_bytes(),
        "xml" => {
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            text.replace('"', "&quot;").replace('\n', "&#10;").into_bytes()
        }
        "crlf" => text.replace('\n', "\r\n").into_bytes(),
        "lines" => text.as_bytes().chunks(64).collect::<Vec<_>>().join(&b"\n"[..]),
        _ => text.lines().map(|line| format!("        {line}\n")).collect::<String>().into_bytes(),
    })
}

fn streamed(vault: &Vault, answer: &[u8], pieces: &[usize]) -> Vec<u8> {
    let mut scrubber = vault.scrubber();
    let mut clean = Vec::new();
    let mut rest = answer;
    let mut lengths = pieces.iter().copied().chain([rest.len().max(1)]).cycle();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(lengths.next().unwrap_or(1).min(rest.len()));
        clean.extend_from_slice(&scrubber.push(Bytes::copy_from_slice(piece)));
        rest = after;
    }
    clean.extend_from_slice(&scrubber.finish());
    clean
}

/// The longest run of letters and digits of the spelled value that is left in an answer.
fn left(clean: &[u8], spelled: &[u8], most: usize) -> usize {
    let text = String::from_utf8_lossy(clean).replace('\0', "");
    let wanted = bare(&String::from_utf8_lossy(spelled).replace('\0', ""));
    let parts = text.split(MASK).map(bare);
    parts.map(|part| common(&part, &wanted, most)).max().unwrap_or(0)
}

fn bare(text: &str) -> Vec<u8> {
    text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()).collect()
}

/// The length of the longest run that both have, as far as it matters: one beyond what may be left.
fn common(part: &[u8], wanted: &[u8], most: usize) -> usize {
    let mut length = most + 1;
    while length > most - 5 {
        let runs: std::collections::HashSet<&[u8]> = wanted.windows(length).collect();
        if part.windows(length).any(|run| runs.contains(run)) {
            return length;
        }
        length -= 1;
    }
    0
}
