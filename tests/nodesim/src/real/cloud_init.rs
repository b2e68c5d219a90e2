//! The parts of cloud-init that a kubelet's machine needs: variables of the instance, files, the machine's name.

use anyhow::{Context as _, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::vm::Vm;

pub(super) const TEMPLATE: &str = "## template: jinja";
pub(super) const CLOUD_CONFIG: &str = "#cloud-config";
const HOSTNAME: &str = "/etc/hostname";

/// A machine after its first boot.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Booted {
    /// The name that the user data gives it.
    pub(super) hostname: Option<String>,
    pub(super) files: Vec<File>,
}

/// A file that the user data writes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) content: String,
}

#[derive(Deserialize)]
struct CloudConfig {
    hostname: Option<String>,
    #[serde(default)]
    write_files: Vec<WriteFile>,
}

#[derive(Deserialize)]
struct WriteFile {
    path: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    encoding: String,
}

/// Reads user data as the machine would: a cloud-config, or a script of which the here-documents are read, both with
/// variables of the instance if the first line asks for them.
pub(super) fn boot(user_data: &[u8], vm: &Vm) -> anyhow::Result<Booted> {
    let text = std::str::from_utf8(user_data).context("the user data is no text")?;
    let rendered = match text.strip_prefix(TEMPLATE) {
        Some(template) => render(template.trim_start(), vm)?,
        None => text.to_owned(),
    };
    let mut booted = if rendered.starts_with(CLOUD_CONFIG) {
        of_cloud_config(&rendered)?
    } else if rendered.starts_with("#!") {
        Booted { hostname: None, files: here_documents(&rendered)? }
    } else {
        bail!("the user data is neither a cloud-config nor a script");
    };
    let named = booted.files.iter().find(|file| file.path == HOSTNAME);
    booted.hostname = booted.hostname.or_else(|| named.map(|file| file.content.trim().to_owned()));
    Ok(booted)
}

fn of_cloud_config(text: &str) -> anyhow::Result<Booted> {
    // The parser's own words would repeat parts of the user data.
    let Ok(config) = serde_yaml_ng::from_str::<CloudConfig>(text) else {
        bail!("the cloud-config is no valid YAML or has fields of another type");
    };
    let files = config.write_files.into_iter().map(|file| {
        let content = match file.encoding.as_str() {
            "" | "text/plain" => file.content,
            "b64" | "base64" => decode(&file.content).with_context(|| format!("in {}", file.path))?,
            other => bail!("{} has the encoding {other}, which nobody reads here", file.path),
        };
        Ok(File { path: file.path, content })
    });
    Ok(Booted { hostname: config.hostname, files: files.collect::<anyhow::Result<_>>()? })
}

fn decode(text: &str) -> anyhow::Result<String> {
    let packed: String = text.split_whitespace().collect();
    let bytes = STANDARD.decode(packed).ok().context("failed to decode base64")?;
    String::from_utf8(bytes).ok().context("failed to decode text")
}

/// The files that a script writes with `cat > PATH <<WORD`, in any order of the two, packed with `base64 -d` or not.
fn here_documents(script: &str) -> anyhow::Result<Vec<File>> {
    let mut files = Vec::new();
    let mut lines = script.lines();
    while let Some(line) = lines.next() {
        let Some((end, path)) = here_document(line) else { continue };
        let mut content = String::new();
        loop {
            let line = lines.next().with_context(|| format!("the script ends within {path}"))?;
            if line.trim_start_matches('\t') == end {
                break;
            }
            content.push_str(line);
            content.push('\n');
        }
        let content = if line.contains("base64 ") { decode(&content)? } else { content };
        files.push(File { path, content });
    }
    Ok(files)
}

/// The last line of a here-document and the file that it goes to, from its first line.
fn here_document(line: &str) -> Option<(String, String)> {
    let (_, after) = line.split_once("<<").filter(|(_, after)| !after.starts_with('<'))?;
    let word = after.trim_start_matches('-').split_whitespace().next()?;
    let end = word.trim_matches(['\'', '"']);
    let (_, target) = line.split_once('>')?;
    let path = target.trim_start_matches('>').split_whitespace().next()?;
    (!end.is_empty() && path.starts_with('/')).then(|| (end.to_owned(), path.to_owned()))
}

/// Replaces `{{ name }}` by what cloud-init knows of the instance.
fn render(template: &str, vm: &Vm) -> anyhow::Result<String> {
    ensure!(!template.contains("{%"), "the user data has statements of Jinja, which nobody runs here");
    let mut rendered = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").context("a {{ of the user data has no }}")?;
        rendered.push_str(before);
        rendered.push_str(variable(name.trim(), vm)?);
        rest = after;
    }
    rendered.push_str(rest);
    Ok(rendered)
}

fn variable<'a>(name: &str, vm: &'a Vm) -> anyhow::Result<&'a str> {
    let short = name.strip_prefix("v1.").or_else(|| name.strip_prefix("ds.meta_data.")).unwrap_or(name);
    Ok(match short {
        "instance_id" => &vm.id,
        "local_hostname" | "hostname" => &vm.node_name,
        "availability_zone" => &vm.zone,
        "region" => &vm.region,
        _ => bail!("no instance has a variable {name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::vm;
    use super::*;

    fn file(path: &str, content: &str) -> File {
        File { path: path.to_owned(), content: content.to_owned() }
    }

    fn check(user_data: &str, hostname: Option<&str>, files: &[File]) {
        let booted = boot(user_data.as_bytes(), &vm()).unwrap();
        assert_eq!(booted.hostname.as_deref(), hostname, "{user_data}");
        assert_eq!(booted.files, files, "{user_data}");
    }

    fn refused(user_data: &str, part: &str) {
        let error = format!("{:#}", boot(user_data.as_bytes(), &vm()).unwrap_err());
        assert!(error.contains(part), "{error}");
        assert!(!error.contains("s3cret"), "user data is repeated: {error}");
    }

    #[test]
    fn a_cloud_config_names_the_machine_and_writes_files_in_any_encoding() {
        check(
            "#cloud-config\nhostname: a\nwrite_files:\n- {path: /x, content: \"1\\n\"}\n\
             - {path: /y, encoding: b64, content: Mg==}\n",
            Some("a"),
            &[file("/x", "1\n"), file("/y", "2")],
        );
        check("#cloud-config\nruncmd: [a]\n", None, &[]);
        check(
            "#cloud-config\nwrite_files: [{path: /etc/hostname, content: b}]\n",
            Some("b"),
            &[file(HOSTNAME, "b")],
        );
    }

    #[test]
    fn a_script_writes_its_here_documents() {
        check(
            "#!/bin/sh\nset -e\ncat > /x <<'END'\none\ntwo\nEND\ncat <<-END >> /y\nthree\n\tEND\n\
             base64 -d > /z <<E\nNA==\nE\ncat > /a <<< here\nif [ 1 -gt 0 ]; then true; fi\n",
            None,
            &[file("/x", "one\ntwo\n"), file("/y", "three\n"), file("/z", "4")],
        );
    }

    #[test]
    fn variables_of_the_instance_are_filled_in_where_the_first_line_asks_for_it() {
        let config = "#cloud-config\nhostname: '{{ v1.local_hostname }}'\nwrite_files:\n\
                      - {path: /x, content: \"{{availability_zone}}/{{ ds.meta_data.instance_id }}\"}\n";
        check(&format!("{TEMPLATE}\n{config}"), Some("node-1"), &[file("/x", "zone-a/vm-7")]);
        check(
            config,
            Some("{{ v1.local_hostname }}"),
            &[file("/x", "{{availability_zone}}/{{ ds.meta_data.instance_id }}")],
        );
    }

    #[test]
    fn what_a_machine_could_not_read_is_refused_without_repeating_it() {
        refused("s3cret", "neither a cloud-config nor a script");
        refused("#cloud-config\nwrite_files: s3cret\n", "no valid YAML");
        refused("#cloud-config\nwrite_files: [{path: /x, encoding: gzip, content: s3cret}]\n", "gzip");
        refused("#cloud-config\nwrite_files: [{path: /x, encoding: b64, content: s3cret}]\n", "base64");
        refused("## template: jinja\n#cloud-config\nhostname: {{ v1.colour }}s3cret\n", "v1.colour");
        refused("## template: jinja\n#cloud-config\n#{% if s3cret %}\n", "statements");
        refused("#!/bin/sh\ncat > /x <<END\ns3cret\n", "ends within /x");
    }
}
