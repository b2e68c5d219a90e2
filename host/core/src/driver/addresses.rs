//! The addresses of a VM, merged from several sources.

use std::collections::BTreeSet;

use super::Address;

/// All addresses of all lists, each once, sorted by kind and then by address.
///
/// Entries without an address are skipped. The same addresses in another order or more often give the same list, so
/// that the status does not change.
pub fn union<'a>(lists: impl IntoIterator<Item = &'a [Address]>) -> Vec<Address> {
    let distinct: BTreeSet<&Address> =
        lists.into_iter().flatten().filter(|address| !address.address.is_empty()).collect();
    distinct.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn address(kind: &str, address: &str) -> Address {
        Address { kind: kind.into(), address: address.into() }
    }

    #[test]
    fn addresses_are_merged_without_repetition_and_sorted_by_kind_then_address() {
        let stored = [address("InternalIP", "10.0.0.9"), address("Hostname", "node-1")];
        let answered =
            [address("InternalIP", "10.0.0.10"), address("InternalIP", "10.0.0.9"), address("Hostname", "")];
        assert_eq!(
            union([&stored[..], &answered[..]]),
            [
                address("Hostname", "node-1"),
                address("InternalIP", "10.0.0.10"),
                address("InternalIP", "10.0.0.9")
            ]
        );
    }

    proptest! {
        #[test]
        fn the_answer_depends_neither_on_order_nor_on_grouping(
            texts in proptest::collection::vec(("[ab]", "[0-3]{0,2}"), 0..12),
            cut in 0..12_usize,
        ) {
            let all: Vec<Address> = texts.iter().map(|(kind, text)| address(kind, text)).collect();
            let reversed: Vec<Address> = all.iter().rev().cloned().collect();
            let (left, right) = reversed.split_at(cut.min(reversed.len()));
            let once = union([all.as_slice()]);
            prop_assert_eq!(&union([left, right]), &once);
            prop_assert_eq!(&union([once.as_slice(), all.as_slice()]), &once);
        }
    }
}
