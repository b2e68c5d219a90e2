//! The counters of a host, read from its `/metrics`.

/// The samples of one scrape.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    samples: Vec<(String, f64)>,
}

impl Metrics {
    /// Reads the text format. Lines that are no samples are passed over.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let samples = lines.filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        Self { samples: samples.collect() }
    }

    /// The sum of all samples of this name whose labels contain each of these `key="value"` texts.
    pub fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        self.matching(name, labels).map(|(_, value)| value).sum()
    }

    /// The samples of this name, with their labels.
    pub fn matching<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [&'a str],
    ) -> impl Iterator<Item = (&'a str, f64)> + 'a {
        self.samples.iter().filter_map(move |(sample, value)| {
            let (own, rest) = sample.split_once('{').unwrap_or((sample, ""));
            (own == name && labels.iter().all(|label| rest.contains(label))).then_some((rest, *value))
        })
    }

    /// Requests of the host to API servers, by verb and resource, but for Events and Leases and watches.
    pub fn api_requests(&self) -> Vec<(String, f64)> {
        let counted = |labels: &str| {
            !labels.contains("resource=\"events\"")
                && !labels.contains("resource=\"leases\"")
                && !labels.contains("verb=\"WATCH\"")
        };
        self.matching("machinist_api_requests_total", &[])
            .filter(|(labels, _)| counted(labels))
            .map(|(labels, value)| (labels.trim_end_matches('}').to_owned(), value))
            .collect()
    }
}
