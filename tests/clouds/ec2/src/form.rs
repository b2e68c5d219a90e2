//! Form-encoded requests of the query API.

use std::collections::BTreeMap;

/// The parameters of a request, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    pairs: Vec<(String, String)>,
}

/// One filter of a Describe call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
    /// How its parameters begin.
    prefix: String,
}

impl Form {
    pub(crate) fn parse(body: &[u8]) -> Self {
        Self { pairs: form_urlencoded::parse(body).into_owned().collect() }
    }

    pub(crate) fn encoded(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.pairs).finish()
    }

    pub(crate) fn push(&mut self, name: &str, value: &str) {
        self.pairs.push((name.to_owned(), value.to_owned()));
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.pairs.retain(|(known, _)| known != name);
    }

    /// The values of `NAME.1`, `NAME.2` and so on.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let mut found: Vec<(u32, &String)> = self
            .pairs
            .iter()
            .filter_map(|(known, value)| {
                Some((known.strip_prefix(name)?.strip_prefix('.')?.parse().ok()?, value))
            })
            .collect();
        found.sort();
        found.into_iter().map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn filters(&self) -> Vec<Filter> {
        let names = self.pairs.iter().filter_map(|(key, value)| {
            let prefix = key.strip_suffix(".Name")?;
            prefix.starts_with("Filter.").then(|| (prefix.to_owned(), value.clone()))
        });
        names
            .map(|(prefix, name)| Filter { values: self.list(&format!("{prefix}.Value")), name, prefix })
            .collect()
    }

    /// Takes a filter out.
    pub(crate) fn remove_filter(&mut self, filter: &Filter) {
        let prefix = format!("{}.", filter.prefix);
        self.pairs.retain(|(key, _)| !key.starts_with(&prefix));
    }

    /// The tags that a RunInstances gives to instances.
    pub(crate) fn instance_tags(&self) -> BTreeMap<String, String> {
        let mut tags = BTreeMap::new();
        for (key, value) in &self.pairs {
            let Some(specification) = key.strip_suffix(".ResourceType").filter(|_| value == "instance")
            else {
                continue;
            };
            for (name, key) in &self.pairs {
                let is_key = name.starts_with(&format!("{specification}.Tag.")) && name.ends_with(".Key");
                let value = name.strip_suffix(".Key").filter(|_| is_key);
                if let Some(value) = value.and_then(|tag| self.get(&format!("{tag}.Value"))) {
                    tags.insert(key.clone(), value.to_owned());
                }
            }
        }
        tags
    }

    /// All that makes two requests with one ClientToken the same.
    pub(crate) fn fingerprint(&self) -> BTreeMap<String, String> {
        self.pairs.iter().filter(|(name, _)| name != "ClientToken").cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_ordered_by_its_numbers() {
        let form = Form::parse(b"InstanceId.2=b&InstanceId.10=c&InstanceId.1=a&InstanceIdentity=x");
        assert_eq!(form.list("InstanceId"), ["a", "b", "c"]);
    }

    #[test]
    fn a_filter_is_found_and_taken_out_alone() {
        let mut form = Form::parse(
            b"Filter.1.Name=tag%3AName&Filter.1.Value.1=a&Filter.10.Name=client-token&Filter.10.Value.1=t",
        );
        let filters = form.filters();
        assert_eq!(
            (filters[1].name.as_str(), filters[1].values.as_slice()),
            ("client-token", &["t".to_owned()][..])
        );
        form.remove_filter(&filters[0]);
        assert_eq!(form.encoded(), "Filter.10.Name=client-token&Filter.10.Value.1=t");
    }

    #[test]
    fn tags_of_instances_differ_from_those_of_volumes() {
        let form = Form::parse(
            b"TagSpecification.1.ResourceType=volume&TagSpecification.1.Tag.1.Key=a&TagSpecification.1.Tag.1.Value=1&\
              TagSpecification.2.ResourceType=instance&TagSpecification.2.Tag.1.Key=b&TagSpecification.2.Tag.1.Value=2",
        );
        assert_eq!(form.instance_tags(), BTreeMap::from([("b".to_owned(), "2".to_owned())]));
    }
}
