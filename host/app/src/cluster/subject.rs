//! Which object somebody asks about, in the ways that `kubectl` takes it too.

use anyhow::{Result, bail};

/// A kind, as somebody writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Deployment,
    Set,
    Machine,
    Node,
    /// A Deployment of pods.
    PodDeployment,
    Other(String),
}

impl Kind {
    pub(crate) fn parse(word: &str) -> Self {
        let lower = word.to_ascii_lowercase();
        let short = lower.strip_suffix(".machine.sapcloud.io").unwrap_or(&lower);
        match short {
            "machinedeployment" | "machinedeployments" | "mcd" => Self::Deployment,
            "machineset" | "machinesets" | "mcs" => Self::Set,
            "machine" | "machines" | "mc" => Self::Machine,
            "node" | "nodes" | "no" => Self::Node,
            "deployment" | "deployments" | "deploy" | "deployments.apps" | "deployment.apps" => {
                Self::PodDeployment
            }
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
        Some(Kind::Machine | Kind::Node | Kind::Other(_)) => {
            bail!("only MachineDeployments have rollouts: {help}")
        }
    }
}

/// Returns the name of a Machine. `program`: for the command in the error.
///
/// # Errors
/// When it is no Machine, or has no name.
pub(crate) fn machine(words: &[String], program: &str) -> Result<String> {
    let help = format!("write machine/NAME, as in `{program} explain machine/worker-1 -n my-namespace`");
    let (kind, name) = match split(words) {
        Some((Some(kind), name)) => (kind, name),
        Some((None, one)) => bail!("{one:?} is a kind or a name, and both are needed: {help}"),
        None => bail!("one object at a time is explained: {help}"),
    };
    match kind {
        Kind::Machine => {}
        Kind::Node => bail!(
            "Nodes are not explained, their Machines are: `kubectl get machines -A -l node={name}` says which it is; {help}"
        ),
        Kind::Deployment => {
            bail!("`{program} tree machinedeployment/{name}` shows MachineDeployments; {help}")
        }
        Kind::Set => bail!("`{program} tree machineset/{name}` shows MachineSets; {help}"),
        Kind::PodDeployment => bail!("\"deployment\" is not explained, only Machines are: {help}"),
        Kind::Other(kind) => bail!("{kind:?} is not explained, only Machines are: {help}"),
    }
    Ok(named(name, "Machine", &help)?.to_owned())
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
        for text in
            ["machine/m", "machines/m", "mc/m", "Machine/m", "machine m", "machines.machine.sapcloud.io/m"]
        {
            assert_eq!(machine(&words(text), "machinist").unwrap(), "m", "{text}");
        }
    }

    #[test]
    fn what_is_no_machine_is_refused_with_what_to_write() {
        for (text, part) in [
            ("m", "both are needed"),
            ("pod/m", "only Machines"),
            ("node/n", "-l node=n"),
            ("mcd/w", "`machinist tree machinedeployment/w`"),
            ("mcs/w", "`machinist tree machineset/w`"),
            ("machine/", "no name"),
            ("machine/a/b", "no name"),
            ("a b c", "one object at a time"),
        ] {
            let said = machine(&words(text), "machinist").unwrap_err().to_string();
            assert!(said.contains(part) && said.contains("machine/NAME"), "{text}: {said}");
        }
    }
}
