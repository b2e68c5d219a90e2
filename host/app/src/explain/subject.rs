//! Which object somebody asks about, in the ways that `kubectl` takes it too.

use anyhow::{Result, bail};

use crate::cluster::subject::{Kind, named, split};

/// The name of the Machine.
///
/// # Errors
/// When it is no Machine, or has no name.
pub(super) fn machine(words: &[String], program: &str) -> Result<String> {
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
