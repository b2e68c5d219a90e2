//! Recordings, and their player.

use machinist_plugin_host::testing::difference;
use machinist_plugin_host::testing::fuzz::{play, recording};

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "recording",
    about: "a recording of somebody else: errors name the file, what is read is written as it was, and each request is answered",
    grammar: Grammar::Json,
    samples: samples::recordings,
    words: &[
        "text",
        "base64",
        "unread",
        "left-out",
        "answer",
        "failed",
        "unanswered",
        "broke_off",
        "stalls",
        "answered",
        "trapped",
        "limit",
        "refused",
        "dropped",
        "left_out",
        "plain",
        "form",
        "json-escape",
        "gzip",
        "x0machinist0secret0x9e8y616fi9j3ji6inb94lpni3",
    ],
    share: 30,
    check,
};

fn check(input: &[u8]) -> Verdict {
    let recording = match recording(input) {
        Ok(recording) => recording,
        Err(error) => {
            let message = error.to_string();
            promise(message.contains("call.json"), || format!("an error names no file: {message}"))?;
            return Ok(Shape::of(&machinist_core::value::error_chain::chain(&error)));
        }
    };
    let text = serde_json::to_vec(&recording).map_err(|error| format!("it cannot be written: {error}"))?;
    let again = machinist_plugin_host::testing::fuzz::recording(&text)
        .map_err(|error| format!("it is not read again: {error}"))?;
    promise(difference(&recording, &again).is_empty(), || "it differs from itself".to_owned())?;
    let asked = recording.http.len();
    Ok(match play(recording) {
        Err(error) => Shape::of(&error.to_string()),
        Ok(answered) => {
            promise(answered == asked, || format!("{answered} of {asked} requests are answered"))?;
            Shape::of(&format!("{:?}", again.end)).and(Shape::of(if asked > 0 {
                "asks"
            } else {
                "asks nothing"
            }))
        }
    })
}
