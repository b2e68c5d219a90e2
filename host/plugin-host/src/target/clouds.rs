//! Domains of clouds below which customers choose names, such as those of buckets: there a wildcard would lead to
//! anybody.

/// Which labels a `*` may stand for, in front of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// Any label: the domain belongs to no known cloud.
    Any,
    /// Names of regions, between two parts; in front of the domain none.
    Regions,
    Named,
}

/// Clouds whose services have a name for each region. A label that does not look like a region may be a bucket:
/// `ec2.s3.DOMAIN`, `ec2.s3-eu-west-1.DOMAIN` and `ecs.oss-cn-hangzhou.DOMAIN` are the buckets `ec2` and `ecs`.
const REGIONAL: [&str; 11] = [
    "amazonaws.com", "amazonaws.com.cn", "amazonaws.eu", "api.aws", "c2s.ic.gov", "sc2s.sgov.gov",
    "cloud.adc-e.uk", "csp.hci.ic.gov", "aliyuncs.com", "myhuaweicloud.com", "oraclecloud.com",
];

/// Clouds whose customers choose a label, or whose storage has a host beside those of other services.
const CHOSEN: [&str; 9] = [
    "googleapis.com", "core.windows.net", "digitaloceanspaces.com", "linodeobjects.com", "backblazeb2.com",
    "wasabisys.com", "cloudflarestorage.com", "myqcloud.com", "cloudfront.net",
];

impl Labels {
    /// In front of this domain, written without a dot at its start.
    pub(crate) fn below(domain: &str) -> Self {
        let is_in = |cloud: &str| {
            domain.strip_suffix(cloud).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if CHOSEN.iter().any(|cloud| is_in(cloud)) {
            Self::Named
        } else if REGIONAL.contains(&domain) {
            Self::Regions
        } else if REGIONAL.iter().any(|cloud| is_in(cloud)) {
            // Deeper down names of load balancers, clusters and buckets begin.
            Self::Named
        } else {
            Self::Any
        }
    }

    /// In front of this domain, written with the dot.
    pub(crate) fn of(suffix: &str) -> Self {
        Self::below(suffix.trim_start_matches('.'))
    }

    /// Whether this label is one of them.
    pub(crate) fn allow(self, label: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Regions => is_region(label),
            Self::Named => false,
        }
    }
}

/// A continent or country in two letters (`eusc` is the sovereign cloud of Europe), then a direction or a town, then
/// perhaps a number: `eu-west-1`, `us-gov-west-1`, `cn-hangzhou`.
fn is_region(label: &str) -> bool {
    let mut parts = label.split('-');
    let is_word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let begins = parts.next().is_some_and(|part| is_word(part) && (part.len() == 2 || part == "eusc"));
    let rest: Vec<&str> = parts.collect();
    let Some((last, middle)) = rest.split_last() else { return false };
    let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    begins && middle.iter().all(|part| is_word(part)) && (is_word(last) || (is_number && !middle.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_distinguished_from_buckets() {
        for region in [
            "eu-west-1", "us-gov-west-1", "us-isob-east-1", "eusc-de-east-1", "cn-hangzhou", "ap-southeast-1",
        ] {
            assert!(is_region(region), "{region}");
        }
        for other in [
            "s3", "s3-accelerate", "s3-eu-west-1", "s3-website-eu-west-1", "oss-cn-hangzhou", "obs", "eu",
            "eu-", "eu-1", "-west-1", "dualstack", "cloudfront", "eu-west-1a", "objectstorage", "",
        ] {
            assert!(!is_region(other), "{other}");
        }
    }

    #[test]
    fn deeper_domains_of_a_cloud_have_names_that_customers_choose() {
        assert_eq!(Labels::below("amazonaws.com"), Labels::Regions);
        assert_eq!(Labels::below("s3.amazonaws.com"), Labels::Named);
        assert_eq!(Labels::below("eu-west-1.amazonaws.com"), Labels::Named);
        assert_eq!(Labels::below("storage.googleapis.com"), Labels::Named);
        assert_eq!(Labels::below("myamazonaws.com"), Labels::Any);
        assert_eq!(Labels::below("example.com"), Labels::Any);
    }
}
