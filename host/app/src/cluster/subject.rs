//! Which object somebody asks about, in the ways that `kubectl` takes it too.

use anyhow::{Result, bail};
use machinist_api::infrastructure::{self, cluster_api};
use machinist_api::names;

/// A kind, as somebody writes it. A word that both APIs have means the kind of machine-controller-manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Deployment,
    Set,
    Machine,
    /// The Cluster of Cluster API.
    Cluster,
    /// The MachineDeployment of Cluster API.
    CoreDeployment,
    /// The MachineSet of Cluster API.
    CoreSet,
    /// The Machine of Cluster API.
    CoreMachine,
    MachinistMachine,
    MachinistRemediation,
    Node,
    /// A Deployment of pods.
    PodDeployment,
    Other(String),
}

impl Kind {
    pub(crate) fn parse(word: &str) -> Self {
        let lower = word.to_ascii_lowercase();
        let (resource, group) = lower.split_once('.').unwrap_or((lower.as_str(), ""));
        match (resource, group) {
            ("machinedeployment" | "machinedeployments" | "mcd", "" | names::GROUP) => Self::Deployment,
            ("machineset" | "machinesets" | "mcs", "" | names::GROUP) => Self::Set,
            ("machine" | "machines" | "mc", "" | names::GROUP) => Self::Machine,
            ("cluster" | "clusters" | "cl", "" | cluster_api::GROUP) => Self::Cluster,
            ("machinedeployment" | "machinedeployments", cluster_api::GROUP) | ("md", "") => {
                Self::CoreDeployment
            }
            ("machineset" | "machinesets", cluster_api::GROUP) | ("ms", "") => Self::CoreSet,
            ("machine" | "machines", cluster_api::GROUP) | ("ma", "") => Self::CoreMachine,
            ("machinistmachine" | "machinistmachines" | "mim", "" | infrastructure::GROUP) => {
                Self::MachinistMachine
            }
            ("machinistremediation" | "machinistremediations" | "mir", "" | infrastructure::GROUP) => {
                Self::MachinistRemediation
            }
            ("node" | "nodes" | "no", "") => Self::Node,
            ("deployment" | "deployments", "" | "apps") | ("deploy", "") => Self::PodDeployment,
            _ => Self::Other(word.to_owned()),
        }
    }
}

/// Splits the words into a kind, if there is one, and a name. `None` for words that are neither.
pub(crate) fn split(words: &[String]) -> Option<(Option<Kind>, &str)> {
    let (kind, name) = match words {
        [one] => match one.split_once('/') {
            Some((kind, name)) => (Some(kind), name),
            None => (None, one.as_str()),
        },
        [kind, name] => (Some(kind.as_str()), name.as_str()),
        _ => return None,
    };
    Some((kind.map(Kind::parse), name))
}

/// A name that can be one.
pub(crate) fn named<'a>(name: &'a str, kind: &str, help: &str) -> Result<&'a str> {
    if name.is_empty() || name.contains('/') {
        bail!("{name:?} is no name of a {kind}: {help}");
    }
    Ok(name)
}

/// Returns the name of a MachineDeployment. `program` and `verb`: for the command in the error.
pub(crate) fn deployment<'a>(words: &'a [String], program: &str, verb: &str) -> Result<&'a str> {
    let help = format!("write machinedeployment/NAME, as in `{program} {verb} machinedeployment/workers`");
    let Some((kind, name)) = split(words) else { bail!("one MachineDeployment at a time: {help}") };
    match kind {
        None | Some(Kind::Deployment) => named(name, "MachineDeployment", &help),
        Some(Kind::PodDeployment) => {
            bail!("Deployments of pods are kubectl's: `kubectl {verb} deployment/{name}`; {help}")
        }
        Some(Kind::Set) => {
            bail!("a MachineSet has no rollouts, its MachineDeployment has: {help}")
        }
        Some(Kind::CoreDeployment | Kind::CoreSet) => bail!(
            "rollouts of Cluster API's MachineDeployments are clusterctl's: `clusterctl alpha rollout --help`, and \
             `{program} tree machinedeployments.cluster.x-k8s.io/{name}` shows one; {help}"
        ),
        Some(
            Kind::Machine
            | Kind::Cluster
            | Kind::CoreMachine
            | Kind::MachinistMachine
            | Kind::MachinistRemediation
            | Kind::Node
            | Kind::Other(_),
        ) => bail!("only MachineDeployments have rollouts: {help}"),
    }
}

/// The object that somebody wants explained, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Explained {
    /// A name without a kind: a Machine, else a MachinistMachine.
    Any(String),
    Machine(String),
    MachinistMachine(String),
    /// The MachinistMachine of this Machine of Cluster API.
    CoreMachine(String),
}

/// Returns the object that is to be explained. `program`: for the command in the error.
///
/// # Errors
/// When it is of another kind, or has no name.
pub(crate) fn explained(words: &[String], program: &str) -> Result<Explained> {
    let help = format!(
        "write machine/NAME or machinistmachine/NAME, as in `{program} explain machine/worker-1 -n my-namespace`"
    );
    let (kind, name) = match split(words) {
        Some((Some(kind), name)) => (kind, name),
        Some((None, one)) if matches!(Kind::parse(one), Kind::Other(_)) => {
            return Ok(Explained::Any(named(one, "Machine", &help)?.to_owned()));
        }
        Some((None, one)) => bail!("{one:?} is a kind, and a name is needed as well: {help}"),
        None => bail!("one object at a time is explained: {help}"),
    };
    let tree = |object: &str, kind: &str| format!("`{program} tree {object}/{name}` shows {kind}; {help}");
    match kind {
        Kind::Machine => Ok(Explained::Machine(named(name, "Machine", &help)?.to_owned())),
        Kind::MachinistMachine => {
            Ok(Explained::MachinistMachine(named(name, "MachinistMachine", &help)?.to_owned()))
        }
        // A remediation has the name of its Machine.
        Kind::CoreMachine | Kind::MachinistRemediation => {
            Ok(Explained::CoreMachine(named(name, "Machine", &help)?.to_owned()))
        }
        Kind::Node => bail!(
            "Nodes are not explained, their Machines are: `kubectl get machines -A -l node={name}` says which it is; {help}"
        ),
        Kind::Deployment => bail!("{}", tree("machinedeployment", "MachineDeployments")),
        Kind::Set => bail!("{}", tree("machineset", "MachineSets")),
        Kind::Cluster => bail!("{}", tree("cluster", "Clusters")),
        Kind::CoreDeployment => {
            bail!("{}", tree("machinedeployments.cluster.x-k8s.io", "MachineDeployments of Cluster API"))
        }
        Kind::CoreSet => bail!("{}", tree("machinesets.cluster.x-k8s.io", "MachineSets of Cluster API")),
        Kind::PodDeployment => {
            bail!("\"deployment\" is not explained, only Machines and MachinistMachines are: {help}")
        }
        Kind::Other(kind) => {
            bail!("{kind:?} is not explained, only Machines and MachinistMachines are: {help}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_deployment_is_named_in_all_the_ways_that_kubectl_takes() {
        for text in [
            "w",
            "mcd/w",
            "machinedeployment/w",
            "MachineDeployments w",
            "machinedeployments.machine.sapcloud.io/w",
        ] {
            assert_eq!(deployment(&words(text), "machinist", "rollout status").unwrap(), "w", "{text}");
        }
    }

    #[test]
    fn what_is_no_deployment_is_refused_with_what_to_write() {
        for (text, part) in [
            ("deployment/w", "`kubectl rollout status deployment/w`"),
            ("mcs/w", "a MachineSet has no rollouts"),
            ("mc/w", "only MachineDeployments"),
            ("pod/w", "only MachineDeployments"),
            ("machinedeployments.cluster.x-k8s.io/w", "`clusterctl alpha rollout --help`"),
            ("mcd/", "no name of a MachineDeployment"),
            ("mcd/a/b", "no name of a MachineDeployment"),
            ("a b c", "one MachineDeployment at a time"),
        ] {
            let said =
                deployment(&words(text), "kubectl machinist", "rollout status").unwrap_err().to_string();
            let help = "`kubectl machinist rollout status machinedeployment/workers`";
            assert!(said.contains(part) && said.contains(help), "{text}: {said}");
        }
    }

    #[test]
    fn a_machine_is_named_in_all_the_ways_that_kubectl_takes() {
        let named = |text: &str| explained(&words(text), "machinist").unwrap();
        for text in
            ["machine/m", "machines/m", "mc/m", "Machine/m", "machine m", "machines.machine.sapcloud.io/m"]
        {
            assert_eq!(named(text), Explained::Machine("m".into()), "{text}");
        }
        for text in [
            "machinistmachine/m",
            "machinistmachines m",
            "mim/m",
            "MachinistMachine/m",
            "machinistmachines.infrastructure.machinist.dev/m",
        ] {
            assert_eq!(named(text), Explained::MachinistMachine("m".into()), "{text}");
        }
        for text in
            ["machines.cluster.x-k8s.io/m", "machine.cluster.x-k8s.io m", "ma/m", "machinistremediation/m"]
        {
            assert_eq!(named(text), Explained::CoreMachine("m".into()), "{text}");
        }
        assert_eq!(named("m"), Explained::Any("m".into()));
    }

    #[test]
    fn what_is_no_machine_is_refused_with_what_to_write() {
        for (text, part) in [
            ("machine", "a name is needed as well"),
            ("pod/m", "only Machines"),
            ("node/n", "-l node=n"),
            ("mcd/w", "`machinist tree machinedeployment/w`"),
            ("mcs/w", "`machinist tree machineset/w`"),
            ("cluster/c", "`machinist tree cluster/c`"),
            ("md/w", "`machinist tree machinedeployments.cluster.x-k8s.io/w`"),
            ("machinesets.cluster.x-k8s.io/w", "`machinist tree machinesets.cluster.x-k8s.io/w`"),
            ("machine.example.org/m", "only Machines"),
            ("machine/", "no name"),
            ("machinistmachine/", "no name"),
            ("machine/a/b", "no name"),
            ("a b c", "one object at a time"),
        ] {
            let said = explained(&words(text), "machinist").unwrap_err().to_string();
            assert!(said.contains(part) && said.contains("machinistmachine/NAME"), "{text}: {said}");
        }
    }
}
