//! The regions of a cloud that a plugin works in: named once, and filled in wherever grants say `{region}`.

use std::collections::BTreeSet;

use serde_yaml_ng::Value;

use super::clouds::Labels;
use super::{Error, is_name};

/// Means each region in hosts, and in the regions of `auth`.
pub const REGION: &str = "{region}";

/// The regions in grants, under `regions`.
pub(crate) struct Regions(Option<BTreeSet<String>>);

impl Regions {
    pub(crate) fn parse(raw: Option<Vec<String>>) -> Result<Self, Error> {
        let Some(raw) = raw else { return Ok(Self(None)) };
        if raw.is_empty() {
            return Err(Error::invalid(
                "regions",
                "names no region: leave it out if nothing is said of {region}",
            ));
        }
        if let Some(wrong) = raw.iter().find(|name| !is_region_name(name)) {
            let problem =
                format!("{wrong:?} is no region: small letters, digits and - only, such as eu-west-1");
            return Err(Error::invalid("regions", problem));
        }
        Ok(Self(Some(raw.into_iter().collect())))
    }

    /// The texts, each with `{region}` once for each region.
    pub(crate) fn fill(
        &self,
        texts: impl IntoIterator<Item = String>,
        at: &str,
    ) -> Result<Vec<String>, Error> {
        let mut filled = Vec::new();
        for text in texts {
            if !text.contains(REGION) {
                filled.push(text);
                continue;
            }
            let Some(regions) = &self.0 else {
                let problem = "says {region}, and the grants have no list regions: write `regions: [eu-west-1]` beside egress, or \
                               let `machinist plugin push --region` do it";
                return Err(Error::invalid(at, problem));
            };
            // A label that does not look like a region of this cloud may be a bucket of another customer.
            let labels = text.split_once("{region}.").map_or(Labels::Any, |(_, domain)| Labels::of(domain));
            if let Some(wrong) =
                regions.iter().find(|region| labels == Labels::Regions && !labels.allow(region))
            {
                return Err(Error::invalid(at, format!("{wrong:?} is no region of the cloud of {text:?}")));
            }
            filled.extend(regions.iter().map(|region| text.replace(REGION, region)));
        }
        Ok(filled)
    }
}

/// Whether a text may be the name of a region. The names of storage services are none: `ec2.s3.amazonaws.com` is the
/// bucket of a stranger.
pub fn is_region_name(text: &str) -> bool {
    const STORAGE: [&str; 8] = ["s3", "oss", "obs", "cos", "blob", "storage", "objectstorage", "sos"];
    let first = text.split('-').next().unwrap_or_default();
    is_name(text) && !text.starts_with('-') && !text.ends_with('-') && !STORAGE.contains(&first)
}

/// Returns whether a text of grants needs regions, and which it names. `None`: the text is invalid.
pub fn regions_of(text: &str) -> Option<(bool, BTreeSet<String>)> {
    let document: Value = serde_yaml_ng::from_str(text).ok()?;
    let named = document.get("regions").and_then(Value::as_sequence).into_iter().flatten();
    let named = named.filter_map(Value::as_str).map(str::to_owned).collect();
    Some((speaks_of_region(&document), named))
}

fn speaks_of_region(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(REGION),
        Value::Sequence(values) => values.iter().any(speaks_of_region),
        // The address of STS has a {region} of its own, which each request fills in.
        Value::Mapping(entries) => {
            entries.iter().any(|(key, value)| key.as_str() != Some("sts") && speaks_of_region(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Tagged(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_needs_regions_when_a_host_or_a_signature_speaks_of_them() {
        let of = |text: &str| {
            regions_of(text).map(|(is_needed, named)| (is_needed, named.into_iter().collect::<Vec<_>>()))
        };
        assert_eq!(of("egress: [{ host: 'a.{region}.b.com' }]"), Some((true, vec![])));
        assert_eq!(
            of("regions: [b, a]\nauth: [{ regions: ['{region}'] }]"),
            Some((true, vec!["a".into(), "b".into()]))
        );
        assert_eq!(
            of("# {region}\nauth: [{ web-identity: { sts: 'https://sts.{region}.a.com/' } }]"),
            Some((false, vec![]))
        );
        assert_eq!(of(""), Some((false, vec![])));
        assert_eq!(of("{"), None);
    }

    #[test]
    fn attack_a_class_whose_region_is_a_storage_service_names_no_region() {
        for name in ["s3", "s3-eu-west-1", "oss-cn-hangzhou", "a.b", "A", "", "-a", "a-", "{region}", "*"] {
            assert!(!is_region_name(name), "{name}");
        }
        let regions = Regions::parse(Some(vec!["dualstack".to_owned()])).unwrap();
        assert!(regions.fill(["ec2.{region}.amazonaws.com".to_owned()], "egress[0].host").is_err());
        assert_eq!(
            regions.fill(["api.{region}.example.com".to_owned()], "").unwrap(),
            ["api.dualstack.example.com"]
        );
    }
}
