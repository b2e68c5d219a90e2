use proptest::prelude::*;

use super::super::part_store::PartStore;
use super::*;
use crate::sources::keys::PluginKeys;
use crate::sources::{Declared, SourceId};

fn index(text: &str) -> Result<Index, String> {
    Index::parse(text).map_err(|error| error.to_string())
}

fn refused(text: &str, expected: &str) {
    assert_eq!(index(text), Err(expected.to_owned()), "{text}");
}

#[test]
fn an_index_is_read_back_or_refused_by_name() {
    let digest = "ab".repeat(32);
    let part = |name: &str| format!(r#"{{"configMap":"{name}","sha256":"{digest}"}}"#);
    let text = format!(r#"{{"encoding":"gzip","parts":[{},{}]}}"#, part("b"), part("a"));
    assert_eq!(index(&text).expect("is right").to_json(), text);
    let form = r#"write {"encoding":"zstd","parts":[{"configMap":"…","sha256":"…"}, …]}"#;
    for text in ["", "[]", r#"{"encoding":"zstd"}"#, r#"{"encoding":"zstd","parts":[],"size":1}"#] {
        refused(text, form);
    }
    refused(r#"{"encoding":"zstd","parts":[]}"#, "it names no part");
    refused(
        &format!(r#"{{"encoding":"lzma","parts":[{}]}}"#, part("a")),
        "encoding \"lzma\" is unknown; this host reads none, gzip and zstd",
    );
    refused(
        &format!(r#"{{"encoding":"zstd","parts":[{},{},{}]}}"#, part("a"), part("b"), part("a")),
        "it names ConfigMap a twice, as part 1 and part 3",
    );
    let many: Vec<_> = (0..33).map(|number| part(&number.to_string())).collect();
    refused(
        &format!(r#"{{"encoding":"zstd","parts":[{}]}}"#, many.join(",")),
        "it names 33 parts, and 32 are the most",
    );
    refused(
        r#"{"encoding":"zstd","parts":[{"configMap":"a","sha256":"latest"}]}"#,
        "the digest of part 1 is wrong",
    );
}

fn map(place: Option<&str>, bytes: Option<&[u8]>) -> RawConfigMap {
    let mut raw = RawConfigMap::default();
    raw.data.extend(place.map(|place| (PluginKeys::PLACE_KEY.to_owned(), place.to_owned())));
    raw.binary_data
        .extend(bytes.map(|bytes| (PluginKeys::BYTES_KEY.to_owned(), Bytes::copy_from_slice(bytes))));
    raw
}

#[test]
fn a_part_is_read_or_refused_by_name() {
    let part = Part::read(&map(Some("2/3"), Some(b"bytes"))).expect("is right");
    assert_eq!((part.place.to_string(), part.digest), ("2/3".to_owned(), ContentDigest::of(b"bytes")));
    let refused = |raw: &RawConfigMap| Part::read(raw).expect_err("is wrong").to_string();
    assert_eq!(refused(&map(None, Some(b"x"))), "its data has no part, such as \"1/5\"");
    assert_eq!(refused(&map(Some("2"), Some(b"x"))), "its part is \"2\", not a place such as \"1/5\"");
    assert_eq!(refused(&map(Some("1/5"), None)), "its binaryData has no plugin.wasm.part");
    let large = refused(&map(Some("1/5"), Some(&vec![0; MOST_PART_BYTES + 1])));
    assert_eq!(large, "its 1048577 bytes are more than the 1048576 that a part may have");
}

/// The three parts of a text, changed by a test.
struct Three {
    index: Index,
    parts: BTreeMap<String, FoundPart>,
}

impl Three {
    fn new() -> Self {
        let text = Bytes::from_static(b"abcdefgh");
        let (index, parts) = split(&text, Encoding::None, 3, "x");
        Self { index, parts: parts.into_iter().map(|(name, part)| (name, FoundPart::Part(part))).collect() }
    }

    fn place(&mut self, name: &str) -> &mut PartNumber {
        match self.parts.get_mut(name) {
            Some(FoundPart::Part(part)) => &mut part.place,
            other => panic!("{other:?}"),
        }
    }

    fn says(&self) -> String {
        match self.index.assemble(|name| self.parts.get(name)) {
            Ok(Assembly::Complete(packed)) => {
                String::from_utf8(packed.unpack().expect("fits").to_vec()).expect("text")
            }
            Ok(Assembly::Waits { missing }) => format!("waits for {missing}"),
            Err(error) => machinist_core::value::error_chain::chain(&error),
        }
    }
}

#[test]
fn a_missing_part_is_named_with_its_place() {
    let mut three = Three::new();
    assert_eq!(three.says(), "abcdefgh");
    three.parts.remove("x-2");
    assert_eq!(three.says(), "waits for part 2 of 3, ConfigMap x-2");
    three.parts.remove("x-3");
    assert_eq!(three.says(), "waits for part 2 of 3, ConfigMap x-2; part 3 of 3, ConfigMap x-3");
}

#[test]
fn a_part_that_does_not_fit_is_wrong_even_if_others_are_missing() {
    let mut three = Three::new();
    three.parts.remove("x-1");
    three.place("x-3").number = 2;
    assert_eq!(three.says(), "part 3 of 3, ConfigMap x-3, says that it is part 2/3");
    let mut three = Three::new();
    three.place("x-1").total = 4;
    assert_eq!(three.says(), "part 1 of 3, ConfigMap x-1, says that it is part 1/4");
    let mut three = Three::new();
    three.parts.insert("x-2".to_owned(), FoundPart::Wrong(PartError::NoBytes));
    assert_eq!(three.says(), "part 2 of 3, ConfigMap x-2, is wrong: its binaryData has no plugin.wasm.part");
    let mut three = Three::new();
    let other = Part::new(PartNumber { number: 2, total: 3 }, Bytes::from_static(b"dxf"));
    three.parts.insert("x-2".to_owned(), FoundPart::Part(other));
    assert!(three.says().starts_with("part 2 of 3, ConfigMap x-2, has digest sha256:"), "{}", three.says());
}

/// An index and its parts arrive in this order (0 is the index); what comes of it at the end.
fn arrive(order: &[usize], index: &Index, parts: &[(String, Part)]) -> Result<Assembly, Error> {
    let mut part_store = PartStore::default();
    let id = SourceId::new("machinist", "index");
    for &turn in order {
        match turn.checked_sub(1).and_then(|turn| parts.get(turn)) {
            None => part_store.put_index(id.clone(), Declared::bare(id.clone(), index.clone()), 0),
            Some((name, part)) => {
                part_store.put_part(SourceId::new("machinist", name), FoundPart::Part(part.clone()));
            }
        }
    }
    part_store.assemble(&id).expect("the index is there")
}

/// Bytes, a part size that makes at most 32 parts of them, and an order of arrival.
fn cases() -> impl Strategy<Value = (Vec<u8>, usize, Vec<usize>)> {
    (prop::collection::vec(any::<u8>(), 0..2_000), 1..33_usize).prop_flat_map(|(bytes, count)| {
        let size = bytes.len().div_ceil(count).max(1);
        let parts = bytes.len().div_ceil(size).max(1);
        (Just(bytes), Just(size), Just((0..=parts).collect::<Vec<_>>()).prop_shuffle())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: tier::cases(100), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn split_parts_assemble_in_every_order_of_arrival((bytes, size, order) in cases()) {
        // Packing with zstd takes longer than all the rest.
        for encoding in [Encoding::None, Encoding::Gzip] {
            let packed = Bytes::from(encoding.pack(&bytes).unwrap());
            let size = size.max(packed.len().div_ceil(Index::MOST_PARTS));
            let (index, parts) = split(&packed, encoding, size, "x");
            prop_assert!(parts.iter().all(|(_, part)| part.bytes.len() <= size));
            prop_assert_eq!(Index::parse(&index.to_json()).unwrap(), index.clone());
            let order: Vec<_> = order.iter().copied().filter(|&turn| turn <= parts.len())
                .chain(order.len()..=parts.len()).collect();
            let Ok(Assembly::Complete(whole)) = arrive(&order, &index, &parts) else {
                panic!("all parts are there")
            };
            prop_assert_eq!(whole.unpack().unwrap(), bytes.clone());
        }
    }

    #[test]
    fn no_order_makes_up_for_a_part_that_is_missing((bytes, size, order) in cases(), lost in any::<prop::sample::Index>()) {
        let (index, parts) = split(&Bytes::from(bytes), Encoding::None, size, "x");
        let lost = 1 + lost.index(parts.len());
        let order: Vec<_> = order.into_iter().filter(|&turn| turn != lost).collect();
        let missing = format!("part {lost} of {}, ConfigMap x-{lost}", parts.len());
        prop_assert_eq!(arrive(&order, &index, &parts), Ok(Assembly::Waits { missing }));
    }

    #[test]
    fn one_changed_byte_anywhere_is_rejected((bytes, size, order) in cases(), place in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        prop_assume!(!bytes.is_empty());
        let (index, _) = split(&Bytes::from(bytes.clone()), Encoding::None, size, "x");
        let mut damaged = bytes;
        let place = place.index(damaged.len());
        damaged[place] ^= flip;
        let (_, parts) = split(&Bytes::from(damaged), Encoding::None, size, "x");
        let outcome = arrive(&order, &index, &parts);
        prop_assert!(matches!(outcome, Err(Error::OtherContent { .. })), "{:?}", outcome);
    }

    #[test]
    fn two_parts_that_changed_places_are_rejected((bytes, size, order) in cases()) {
        let (index, mut parts) = split(&Bytes::from(bytes), Encoding::None, size, "x");
        prop_assume!(parts.len() > 1);
        let (first, last) = (parts[0].1.clone(), parts[parts.len() - 1].1.clone());
        parts[0].1 = last;
        let end = parts.len() - 1;
        parts[end].1 = first;
        let outcome = arrive(&order, &index, &parts);
        prop_assert!(matches!(outcome, Err(Error::OtherPlace { .. })), "{:?}", outcome);
    }

    #[test]
    fn no_text_makes_the_index_panic(text in ".{0,200}") {
        let _ = Index::parse(&text);
    }
}
