//! Names of Event objects, cut and hashed.

/// The longest name of an object.
const NAME_BYTES: usize = 253;

/// Returns the name of the Event with this number about an object of this name. Where both together are too long, the
/// object's name is cut, and a hash of the whole keeps two long names apart.
pub fn event_name(object: &str, number: i128) -> String {
    let suffix = format!(".{number:x}");
    if object.len() + suffix.len() <= NAME_BYTES {
        return format!("{object}{suffix}");
    }
    let hash = format!("-{:016x}", fnv(object));
    let room = NAME_BYTES.saturating_sub(suffix.len() + hash.len());
    let end = (0..=room).rev().find(|end| object.is_char_boundary(*end)).unwrap_or(0);
    // A name's parts end with a letter or a digit.
    let kept = object[..end].trim_end_matches(['.', '-']);
    format!("{kept}{hash}{suffix}")
}

/// FNV-1a: the same on every machine and in every version.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_kept_and_a_long_one_is_cut_and_stays_its_own() {
        assert_eq!(event_name("m", 255), "m.ff");
        let number = 1_800_000_000_000_000_000;
        for length in 200..=253 {
            let (one, other) =
                (format!("{}.a", "m".repeat(length - 2)), format!("{}.b", "m".repeat(length - 2)));
            let (one, other) = (event_name(&one, number), event_name(&other, number));
            assert!(one.len() <= 253 && other.len() <= 253, "{one}");
            assert_ne!(one, other);
            assert!(!one.contains(".-") && !one.contains("--"), "{one}");
        }
    }
}
