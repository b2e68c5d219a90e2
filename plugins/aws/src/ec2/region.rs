//! Regions, and the host names of their API servers.

/// The suffix of host names in each partition of AWS.
const SUFFIXES: [(&str, &str); 6] = [
    ("cn-", "amazonaws.com.cn"),
    ("us-iso-", "c2s.ic.gov"),
    ("us-isob-", "sc2s.sgov.gov"),
    ("eu-isoe-", "cloud.adc-e.uk"),
    ("us-isof-", "csp.hci.ic.gov"),
    ("eusc-de-", "amazonaws.eu"),
];
const COMMERCIAL: &str = "amazonaws.com";

/// True if a text can be a region: it becomes part of a host name, so it may contain nothing else.
pub(crate) fn is_region(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    // A label of a host name has at most 63 bytes.
    !text.is_empty() && text.len() <= 63 && text.bytes().all(is_plain)
}

/// Returns the host of EC2's API.
pub(crate) fn host(region: &str) -> String {
    let suffix = SUFFIXES.iter().find(|(prefix, _)| region.starts_with(prefix));
    format!("ec2.{region}.{}", suffix.map_or(COMMERCIAL, |(_, suffix)| suffix))
}

/// Returns patterns of all hosts, for `describe`.
pub(crate) fn hosts() -> Vec<String> {
    let suffixes = SUFFIXES.iter().map(|(_, suffix)| *suffix);
    [COMMERCIAL].into_iter().chain(suffixes).map(|suffix| format!("ec2.*.{suffix}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_has_its_hosts() {
        let table = [
            ("eu-west-1", "ec2.eu-west-1.amazonaws.com"),
            ("us-gov-west-1", "ec2.us-gov-west-1.amazonaws.com"),
            ("cn-north-1", "ec2.cn-north-1.amazonaws.com.cn"),
            ("us-iso-east-1", "ec2.us-iso-east-1.c2s.ic.gov"),
            ("us-isob-east-1", "ec2.us-isob-east-1.sc2s.sgov.gov"),
            ("eu-isoe-west-1", "ec2.eu-isoe-west-1.cloud.adc-e.uk"),
            ("us-isof-south-1", "ec2.us-isof-south-1.csp.hci.ic.gov"),
            ("eusc-de-east-1", "ec2.eusc-de-east-1.amazonaws.eu"),
        ];
        for (region, expected) in table {
            assert_eq!(host(region), expected);
        }
    }

    #[test]
    fn what_would_lead_elsewhere_is_no_region() {
        assert!(is_region("eu-west-1"));
        for text in
            ["", "EU-west-1", "a.evil.example", "a/b", "a b", "a@b", "a:1", "ü", "{region}", &"a".repeat(64)]
        {
            assert!(!is_region(text), "{text}");
        }
    }
}
