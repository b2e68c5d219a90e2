//! Components that are packed with gzip or zstd.

use machinist_plugin_host::{Encoding, Packed};

use super::configmap::error_is_readable;
use crate::mutate::Grammar;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "packed",
    about: "gzip and zstd: nothing grows a hundredfold, and damage is an error",
    grammar: Grammar::Bytes,
    samples,
    words: &[],
    share: 15,
    check,
};

/// The most that is made of a byte.
const RATIO: usize = 100;

fn samples() -> Vec<Vec<u8>> {
    let text = b"some text that repeats itself, some text that repeats itself".repeat(20);
    let packed = |encoding: Encoding, bytes: &[u8]| encoding.pack(bytes).unwrap_or_default();
    let bomb = vec![0_u8; 1 << 20];
    [Encoding::Gzip, Encoding::Zstd]
        .into_iter()
        .flat_map(|encoding| [packed(encoding, &text), packed(encoding, &bomb)])
        .collect()
}

fn check(input: &[u8]) -> Verdict {
    let mut shape = Shape::of("");
    for encoding in Encoding::ALL {
        let made = Packed::whole(encoding, input.to_vec()).unpack();
        let length = made.as_ref().map_or(0, bytes::Bytes::len);
        promise(length <= input.len() * RATIO, || {
            format!("{encoding:?} makes {length} bytes of {}", input.len())
        })?;
        shape = shape.and(match made {
            Ok(bytes) => Shape::of(if bytes.len() > input.len() { "it grows" } else { "it is as long" }),
            Err(error) => error_is_readable(&error)?,
        });
    }
    Ok(shape)
}
