//! From the user data of a VM to its kubelet, as the machine's own boot would do it.

use anyhow::{Context as _, ensure};
use control_plane::{KubeletOptions, Machine};
use serde::Deserialize;

use super::cloud_init::{Booted, CLOUD_CONFIG, TEMPLATE, boot};
use crate::user_data::bootstrap_token;
use crate::vm::Vm;

/// The variable with a kubelet's further arguments, in the file that its unit reads; kubeadm's packages have the name.
const EXTRA_ARGS: &str = "KUBELET_EXTRA_ARGS=";
/// Arguments of the user data that name files of the machine, which lie elsewhere here.
const PATHS: [&str; 4] = ["--bootstrap-kubeconfig", "--kubeconfig", "--cert-dir", "--root-dir"];

/// The kubelet of a VM with this user data. The API server's address, its authority and the bootstrap token come from a
/// kubeconfig among the files that the user data writes, labels and the provider id from `KUBELET_EXTRA_ARGS=` in
/// another. The VM itself knows its hardware, and its name if the user data has none.
pub fn kubelet_of(vm: &Vm, user_data: &[u8]) -> anyhow::Result<KubeletOptions> {
    let booted = boot(user_data, vm)?;
    let kubeconfig = booted.files.iter().map(|file| file.content.as_str()).find(|text| is_kubeconfig(text));
    let kubeconfig = kubeconfig.context("the user data writes no kubeconfig")?;
    ensure!(
        bootstrap_token(kubeconfig.as_bytes()).is_some(),
        "the kubeconfig in the user data has no bootstrap token"
    );
    let name = booted.hostname.as_deref().unwrap_or(&vm.node_name);
    let mut options = KubeletOptions::new(name, kubeconfig.to_owned());
    options.machine = Machine {
        id: vm.id.clone(),
        boot_id: vm.boot_id.clone(),
        cpus: vm.cpus.max(1),
        memory_gib: vm.memory_gib.max(1),
    };
    options.args = extra_args(&booted);
    if let Some(name) = last_value(&options.args, "--hostname-override") {
        options.node_name = name;
    }
    Ok(options)
}

/// User data that makes a machine join with this kubeconfig, as a user's Secret has it: a cloud-config for an image
/// whose unit `kubelet` reads `/etc/default/kubelet`, runs `kubelet $KUBELET_EXTRA_ARGS` and always restarts.
/// `provider_id` is a template of cloud-init, such as `sim:///{{ v1.availability_zone }}/{{ v1.instance_id }}`; `args`
/// are further arguments of the kubelet.
pub fn joining_user_data(bootstrap_kubeconfig: &str, provider_id: &str, args: &str) -> String {
    let kubeconfig: String = bootstrap_kubeconfig.lines().map(|line| format!("      {line}\n")).collect();
    let own = "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubeconfig \
               --hostname-override={{ v1.local_hostname }}";
    format!(
        "{TEMPLATE}
{CLOUD_CONFIG}
write_files:
  - path: /etc/kubernetes/bootstrap-kubeconfig
    permissions: \"0600\"
    content: |
{kubeconfig}  - path: /etc/default/kubelet
    content: |
      {EXTRA_ARGS}{own} --provider-id={provider_id} {args}
runcmd:
  - [systemctl, enable, --now, kubelet]
"
    )
}

fn is_kubeconfig(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    serde_yaml_ng::from_str::<Kind>(text).is_ok_and(|document| document.kind == "Config")
}

/// The words of `KUBELET_EXTRA_ARGS=…`, or of the same in a unit's `Environment="…"`.
fn extra_args(booted: &Booted) -> Vec<String> {
    let lines = booted.files.iter().flat_map(|file| file.content.lines());
    let values = lines.filter(|line| !line.trim_start().starts_with('#'));
    let values = values.filter_map(|line| Some(line.split_once(EXTRA_ARGS)?.1));
    let mut words = values.flat_map(|value| value.trim_matches(['"', '\'', ' ']).split_whitespace());
    let mut args = Vec::new();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((flag, _)) if PATHS.contains(&flag) => {}
            // Its value is the next word.
            None if PATHS.contains(&word) => drop(words.next()),
            Some(_) | None => args.push(word.to_owned()),
        }
    }
    args
}

fn last_value(args: &[String], flag: &str) -> Option<String> {
    let mut values = args.iter().filter_map(|arg| arg.strip_prefix(flag)?.strip_prefix('='));
    values.next_back().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::tests::vm;
    use super::*;

    const KUBECONFIG: &str = "kind: Config\nusers: [{name: u, user: {token: abc123.0123456789abcdef}}]\n";

    fn script(kubeconfig: &str, rest: &str) -> String {
        format!("#!/bin/sh\ncat > /etc/kubernetes/bootstrap-kubeconfig <<'END'\n{kubeconfig}END\n{rest}")
    }

    fn refused(user_data: &str, part: &str) {
        let error = kubelet_of(&vm(), user_data.as_bytes()).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn address_authority_and_token_come_from_the_user_data_alone() {
        let options = kubelet_of(&vm(), script(KUBECONFIG, "").as_bytes()).unwrap();
        assert_eq!(options.bootstrap_kubeconfig, KUBECONFIG);
        assert_eq!((options.node_name.as_str(), options.provider_id), ("node-1", None));
        assert_eq!((options.machine.id.as_str(), options.machine.cpus), ("vm-7", 4));
        assert!(options.args.is_empty(), "{:?}", options.args);
    }

    #[test]
    fn arguments_come_from_the_file_that_the_kubelets_unit_reads() {
        let rest = "cat > /etc/default/kubelet <<END\n# KUBELET_EXTRA_ARGS=--no\n\
                    KUBELET_EXTRA_ARGS=\"--provider-id=sim:///a/1 --kubeconfig /x --node-labels=a=b --root-dir=/y \
                    --hostname-override=other\"\nEND\n";
        let options = kubelet_of(&vm(), script(KUBECONFIG, rest).as_bytes()).unwrap();
        let args = ["--provider-id=sim:///a/1", "--node-labels=a=b", "--hostname-override=other"];
        assert_eq!(options.args, args);
        assert_eq!(options.node_name, "other");
    }

    #[test]
    fn the_user_data_of_tests_is_a_template_that_starts_a_kubelet_of_the_vm() {
        let kubeconfig =
            control_plane::bootstrap_kubeconfig("https://s", "CA", "<<BOOTSTRAP_TOKEN>>").unwrap();
        let id = "sim:///{{ v1.availability_zone }}/{{ v1.instance_id }}";
        let secret = joining_user_data(&kubeconfig, id, "--node-labels=a=b");
        refused(&secret, "no bootstrap token");
        let rendered = secret.replace("<<BOOTSTRAP_TOKEN>>", "123456.0123456789012345");
        let options = kubelet_of(&vm(), rendered.as_bytes()).unwrap();
        assert!(options.bootstrap_kubeconfig.contains("\"token\": \"123456.0123456789012345\""));
        assert!(options.bootstrap_kubeconfig.contains("https://s"));
        let args = ["--hostname-override=node-1", "--provider-id=sim:///zone-a/vm-7", "--node-labels=a=b"];
        assert_eq!(options.args, args);
    }

    #[test]
    fn user_data_that_no_kubelet_could_start_from_is_refused() {
        refused("#!/bin/sh\njoin --token=abc123.0123456789abcdef\n", "no kubeconfig");
        refused(&script("kind: Config\nusers: []\n", ""), "no bootstrap token");
        refused(&script("kind: Config\nusers: [{user: {token: <<BOOTSTRAP_TOKEN>>}}]\n", ""), "no bootstrap");
        refused("", "neither a cloud-config nor a script");
    }
}
