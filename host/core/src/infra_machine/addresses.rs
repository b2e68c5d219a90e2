//! The addresses of a VM that Cluster API takes. Core copies the whole list onto its Machine, and one address that the
//! Machine's schema refuses would block every write of that Machine.

use std::collections::BTreeSet;

use crate::driver::Address;

/// The kinds of the contract.
const KINDS: [&str; 5] = ["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"];

/// The contract's limits, in addresses and in characters of one.
const MOST: usize = 256;
const LONGEST: usize = 256;

/// Returns the addresses that the contract permits: sorted, once each, at most 256.
pub fn valid(addresses: &[Address]) -> Vec<Address> {
    let is_valid = |address: &&Address| {
        KINDS.contains(&address.kind.as_str()) && (1..=LONGEST).contains(&address.address.chars().count())
    };
    let sorted: BTreeSet<&Address> = addresses.iter().filter(is_valid).collect();
    sorted.into_iter().take(MOST).cloned().collect()
}
