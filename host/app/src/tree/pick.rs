//! Selects the trees that a command shows. Pure.

use anyhow::{Result, bail};

use super::model::Forest;
use crate::cluster::instead;
use crate::cluster::subject::{Kind, named, split};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    All,
    Deployment(String),
    Set(String),
}

impl Subject {
    pub(super) fn parse(words: &[String], program: &str) -> Result<Self> {
        if words.is_empty() {
            return Ok(Self::All);
        }
        let help = format!(
            "write machinedeployment/NAME or machineset/NAME, as in `{program} tree machinedeployment/workers`, or no name \
             for all"
        );
        let Some((kind, name)) = split(words) else { bail!("one tree at a time is shown: {help}") };
        match kind {
            None | Some(Kind::Deployment) => {
                Ok(Self::Deployment(named(name, "MachineDeployment", &help)?.to_owned()))
            }
            Some(Kind::Set) => Ok(Self::Set(named(name, "MachineSet", &help)?.to_owned())),
            Some(Kind::Machine) => bail!("`{program} explain machine/{name}` is about one Machine; {help}"),
            Some(Kind::Node | Kind::PodDeployment | Kind::Other(_)) => {
                bail!("only MachineDeployments and MachineSets have trees: {help}")
            }
        }
    }
}

/// Keeps the selected trees.
pub(super) fn pick(mut forest: Forest, subject: &Subject) -> Result<Forest> {
    let namespace = forest.namespace.clone();
    match subject {
        Subject::All => Ok(forest),
        Subject::Deployment(wanted) => {
            let names: Vec<String> =
                forest.deployments.iter().map(|deployment| deployment.name.clone()).collect();
            forest.deployments.retain(|deployment| deployment.name == *wanted);
            if forest.deployments.is_empty() {
                let help = instead(&names, wanted, "MachineDeployment");
                bail!("there is no MachineDeployment {wanted} in namespace {namespace}: {help}");
            }
            Ok(Forest { namespace, deployments: forest.deployments, ..Forest::default() })
        }
        Subject::Set(wanted) => {
            let owned = forest.deployments.into_iter().flat_map(|deployment| deployment.sets);
            let mut sets: Vec<_> = owned.chain(forest.sets).collect();
            let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
            sets.retain(|set| set.name == *wanted);
            if sets.is_empty() {
                let help = instead(&names, wanted, "MachineSet");
                bail!("there is no MachineSet {wanted} in namespace {namespace}: {help}");
            }
            Ok(Forest { namespace, sets, ..Forest::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Subject> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Subject::parse(&words, "machinist")
    }

    #[test]
    fn a_tree_is_a_deployments_or_a_sets() {
        let named = |name: &str| Subject::Deployment(name.to_owned());
        assert_eq!(parse("").unwrap(), Subject::All);
        assert_eq!(parse("w").unwrap(), named("w"));
        assert_eq!(parse("mcd w").unwrap(), named("w"));
        assert_eq!(parse("machineset/s").unwrap(), Subject::Set("s".to_owned()));
    }

    #[test]
    fn what_has_no_tree_is_refused_with_what_to_write() {
        for (text, part) in [
            ("mc/m", "`machinist explain machine/m`"),
            ("pod/p", "only MachineDeployments and MachineSets"),
            ("mcd/", "no name of a MachineDeployment"),
            ("a b c", "one tree at a time"),
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.contains(part) && said.contains("machinedeployment/NAME"), "{text}: {said}");
        }
    }
}
