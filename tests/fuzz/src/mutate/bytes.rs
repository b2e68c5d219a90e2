//! Changes of any bytes.

use super::words::with;
use crate::rng::Rng;

const EDGES: [&[u8]; 10] = [
    b"\0",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    b"\xed\xa0\x80",
    b"\xc3",
    b"\0asm\x0d\0\x01\0",
    b"\x1f\x8b\x08\0",
];

pub(super) fn mutated(base: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let part = rng.part(base.len());
    let at = part.start;
    let piece = base.get(part.clone()).unwrap_or_default();
    match rng.below(9) {
        0 => with(base, part, b""),
        1 => with(base, at..at, piece),
        2 => base.get(..at).unwrap_or_default().to_vec(),
        3 => with(base, at..at, rng.pick(&EDGES).copied().unwrap_or_default()),
        4 => with(base, part, other.get(rng.part(other.len())).unwrap_or_default()),
        5 => changed(base, at, |byte| byte.wrapping_add(1)),
        6 => changed(base, at, |byte| byte.wrapping_sub(1)),
        7 => {
            let bit = rng.below(8);
            changed(base, at, |byte| byte ^ (1 << bit))
        }
        _ => {
            let new = rng.byte();
            changed(base, at, |_| new)
        }
    }
}

fn changed(base: &[u8], at: usize, change: impl FnOnce(u8) -> u8) -> Vec<u8> {
    let mut changed = base.to_vec();
    if let Some(byte) = changed.get_mut(at) {
        *byte = change(*byte);
    }
    changed
}
