//! Which object somebody asks about, in the ways that `kubectl` takes it too.

use anyhow::{Result, bail};

/// The name of the Machine.
///
/// # Errors
/// When it is no Machine, or has no name.
pub(super) fn machine(words: &[String]) -> Result<String> {
    let help = "write machine/NAME, as in `machinist explain machine/worker-1 -n my-namespace`";
    let (kind, name) = match words {
        [one] => match one.split_once('/') {
            Some(parts) => parts,
            None => bail!("{one:?} is a kind or a name, and both are needed: {help}"),
        },
        [kind, name] => (kind.as_str(), name.as_str()),
        _ => bail!("one object at a time is explained: {help}"),
    };
    match kind.to_ascii_lowercase().as_str() {
        "machine" | "machines" | "mc" | "machine.machine.sapcloud.io" | "machines.machine.sapcloud.io" => {}
        "node" | "nodes" | "no" => bail!(
            "Nodes are not explained, their Machines are: `kubectl get machines -A -l node={name}` says which it is; {help}"
        ),
        _ => bail!("{kind:?} is not explained, only Machines are: {help}"),
    }
    if name.is_empty() || name.contains('/') {
        bail!("{name:?} is no name of a Machine: {help}");
    }
    Ok(name.to_owned())
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
            assert_eq!(machine(&words(text)).unwrap(), "m", "{text}");
        }
    }

    #[test]
    fn what_is_no_machine_is_refused_with_what_to_write() {
        for (text, part) in [
            ("m", "both are needed"),
            ("pod/m", "only Machines"),
            ("node/n", "-l node=n"),
            ("machine/", "no name"),
            ("machine/a/b", "no name"),
            ("a b c", "one object at a time"),
        ] {
            let said = machine(&words(text)).unwrap_err().to_string();
            assert!(said.contains(part) && said.contains("machine/NAME"), "{text}: {said}");
        }
    }
}
