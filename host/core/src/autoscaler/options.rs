//! Settings of the autoscaler for one group.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::value::duration;

/// The settings that a group may have of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Nodes that are used less may be deleted; from 0 to 1.
    pub utilization_threshold: f64,
    /// The same for Nodes with GPUs.
    pub gpu_utilization_threshold: f64,
    /// How long a Node must be unneeded before it is deleted.
    pub unneeded_time: SignedDuration,
    /// The same for a Node that is not ready.
    pub unready_time: SignedDuration,
    /// How long a Node may take to register.
    pub provision_time: SignedDuration,
    /// How long a registered Node may take to be ready; `None`: the autoscaler does not say.
    pub startup_time: Option<SignedDuration>,
    pub ignores_daemon_sets: bool,
}

/// Settings by name, and those that cannot be read.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnOptions {
    pub options: Options,
    /// For each invalid setting its name, and the values that it may have.
    pub problems: BTreeMap<String, &'static str>,
}

/// Applies the settings of a group to the defaults. Names are compared without hyphens and in lower case, as Gardener
/// writes the ones and Cluster API the others. An invalid setting counts for nothing. `None`: it has no valid ones.
pub fn apply(settings: &BTreeMap<String, String>, defaults: Options) -> Option<OwnOptions> {
    let (mut options, mut problems, mut is_own) = (defaults, BTreeMap::new(), false);
    for (name, text) in settings.iter().filter(|(_, text)| !text.trim().is_empty()) {
        match set(&mut options, &name.replace('-', "").to_lowercase(), text.trim()) {
            Set::Done => is_own = true,
            Set::Invalid(expected) => drop(problems.insert(name.clone(), expected)),
            Set::Unknown => {}
        }
    }
    is_own.then_some(OwnOptions { options, problems })
}

enum Set {
    Done,
    /// The values that it may have.
    Invalid(&'static str),
    Unknown,
}

fn set(options: &mut Options, name: &str, text: &str) -> Set {
    let threshold = |field: &mut f64| match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => {
            *field = number;
            Set::Done
        }
        Ok(_) | Err(_) => Set::Invalid("a number from 0 to 1"),
    };
    let time = duration::parse(text).ok().filter(|time| *time >= SignedDuration::ZERO);
    let duration = |field: &mut SignedDuration| match time {
        Some(time) => {
            *field = time;
            Set::Done
        }
        None => Set::Invalid("a duration such as 10m"),
    };
    match name {
        "scaledownutilizationthreshold" => threshold(&mut options.utilization_threshold),
        "scaledowngpuutilizationthreshold" => threshold(&mut options.gpu_utilization_threshold),
        "scaledownunneededtime" => duration(&mut options.unneeded_time),
        "scaledownunreadytime" => duration(&mut options.unready_time),
        "maxnodeprovisiontime" => duration(&mut options.provision_time),
        "maxnodestartuptime" => duration(options.startup_time.get_or_insert(SignedDuration::ZERO)),
        "ignoredaemonsetsutilization" => match text.parse() {
            Ok(ignores) => {
                options.ignores_daemon_sets = ignores;
                Set::Done
            }
            Err(_) => Set::Invalid("true or false"),
        },
        _ => Set::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Options {
        Options {
            utilization_threshold: 0.5,
            gpu_utilization_threshold: 0.5,
            unneeded_time: SignedDuration::from_mins(10),
            unready_time: SignedDuration::from_mins(20),
            provision_time: SignedDuration::from_mins(15),
            startup_time: None,
            ignores_daemon_sets: false,
        }
    }

    fn applied(settings: &[(&str, &str)]) -> Option<OwnOptions> {
        let settings = settings.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        apply(&settings.collect(), defaults())
    }

    #[test]
    fn settings_are_taken_by_the_names_of_both_and_the_others_stay() {
        let own = applied(&[
            ("scaledownutilizationthreshold", "0.3"),
            ("scale-down-gpu-utilization-threshold", "0.9"),
            ("scaleDownUnneededTime", "1h30m"),
            ("scale-down-unready-time", "40m"),
            ("max-node-provision-time", ""),
            ("maxnodestartuptime", "5m"),
            ("ignoredaemonsetsutilization", "true"),
            ("something", "else"),
        ]);
        let options = Options {
            utilization_threshold: 0.3,
            gpu_utilization_threshold: 0.9,
            unneeded_time: SignedDuration::from_mins(90),
            unready_time: SignedDuration::from_mins(40),
            startup_time: Some(SignedDuration::from_mins(5)),
            ignores_daemon_sets: true,
            ..defaults()
        };
        assert_eq!(own, Some(OwnOptions { options, problems: BTreeMap::new() }));
    }

    #[test]
    fn without_a_valid_setting_the_group_has_none() {
        assert_eq!(applied(&[]), None);
        assert_eq!(applied(&[("max-node-provision-time", ""), ("something", "else")]), None);
        for (name, text) in [
            ("scaledownutilizationthreshold", "1.5"),
            ("scaledownutilizationthreshold", "NaN"),
            ("scaledownutilizationthreshold", "half"),
            ("scaledownunneededtime", "-1m"),
            ("scaledownunneededtime", "soon"),
            ("maxnodestartuptime", "soon"),
            ("ignoredaemonsetsutilization", "maybe"),
        ] {
            assert_eq!(applied(&[(name, text)]), None, "{name}={text}");
        }
    }

    #[test]
    fn an_invalid_setting_is_reported_and_the_others_count() {
        let own = applied(&[("scaledownunneededtime", "soon"), ("maxnodeprovisiontime", "1h")]).unwrap();
        assert_eq!(own.options, Options { provision_time: SignedDuration::from_hours(1), ..defaults() });
        assert_eq!(own.problems.keys().collect::<Vec<_>>(), ["scaledownunneededtime"]);
    }
}
