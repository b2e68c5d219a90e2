//! A proxy in the environment, between a command or the host and an API server.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::stub::Stub;

const VARIABLES: [&str; 8] = [
    "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "ALL_PROXY",
    "all_proxy",
];

/// `plugin list` in this environment, and in no other.
fn command(kubeconfig: &Path, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_machinist"));
    for name in VARIABLES {
        command.env_remove(name);
    }
    command.args(["plugin", "list", "--kubeconfig"]).arg(kubeconfig).envs(environment.iter().copied());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn list(kubeconfig: &Path, environment: &[(&str, &str)]) -> Output {
    command(kubeconfig, environment).output().expect("the binary starts")
}

fn server() -> Stub {
    Stub::start(|_| {
        let items = r#"[{"metadata":{"name":"found"}}]"#;
        format!(
            r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{{}},"items":{items}}}"#
        )
    })
}

#[track_caller]
fn finds(output: &Output) {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("found"), "{out}{err}");
}

#[test]
fn a_server_is_reached_through_the_proxy_of_the_environment() {
    let proxy = server();
    let folder = tempfile::tempdir().expect("a folder");
    // A name that leads nowhere but at the proxy.
    let kubeconfig = proxy.kubeconfig(folder.path(), "http://control.invalid:6443");
    finds(&list(&kubeconfig, &[("HTTP_PROXY", &proxy.url())]));
    let seen = proxy.seen();
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("CONNECT", "control.invalid:6443"));
    assert!(seen[1].path.contains("/configmaps"), "{seen:?}");
}

#[test]
fn a_server_with_tls_is_asked_for_by_name_at_the_proxy() {
    let proxy = server();
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = proxy.kubeconfig(folder.path(), "https://control.invalid:6443");
    let environment = [("HTTPS_PROXY", proxy.url()), ("NO_PROXY", "127.0.0.1,localhost".to_owned())];
    let environment = environment.each_ref().map(|(name, value)| (*name, value.as_str()));
    let mut child = command(&kubeconfig, &environment).spawn().expect("the binary starts");
    let until = Instant::now() + Duration::from_secs(30);
    while proxy.seen().is_empty() && Instant::now() < until {
        std::thread::yield_now();
    }
    child.kill().expect("it runs or has ended");
    child.wait().expect("it ends");
    let seen = proxy.seen();
    let first = seen.first().expect("the proxy was asked, although NO_PROXY names the proxy itself");
    assert_eq!((first.method.as_str(), first.path.as_str()), ("CONNECT", "control.invalid:6443"));
}

#[test]
fn a_server_that_no_proxy_names_and_one_on_this_machine_are_reached_directly() {
    let (proxy, direct) = (server(), server());
    let folder = tempfile::tempdir().expect("a folder");
    let both = [("HTTP_PROXY", proxy.url()), ("HTTPS_PROXY", proxy.url())];
    let both = both.each_ref().map(|(name, value)| (*name, value.as_str()));
    finds(&list(&direct.kubeconfig(folder.path(), &direct.url()), &both));
    // The same server by an address that is not loopback's.
    let other = direct.url().replace("127.0.0.1", "0.0.0.0");
    let kubeconfig = direct.kubeconfig(folder.path(), &other);
    finds(&list(&kubeconfig, &[&both[..], &[("NO_PROXY", "10.0.0.0/8,0.0.0.0")]].concat()));
    assert!(proxy.seen().is_empty(), "{:?}", proxy.seen());
    finds(&list(&kubeconfig, &both));
    assert_eq!(proxy.seen()[0].method, "CONNECT");
}

#[test]
fn entries_of_no_proxy_that_are_blank_or_make_no_sense_end_no_command() {
    let (proxy, direct) = (server(), server());
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = proxy.kubeconfig(folder.path(), "http://control.invalid:6443");
    let both = [("HTTP_PROXY", proxy.url()), ("HTTPS_PROXY", proxy.url())];
    let both = both.each_ref().map(|(name, value)| (*name, value.as_str()));
    for no in ["a,,b,", ",", "%%,a b,10.0.0.0/99,[", "control.invalid:443"] {
        let asked = proxy.seen().len();
        finds(&list(&elsewhere, &[&both[..], &[("NO_PROXY", no)]].concat()));
        assert_eq!(proxy.seen()[asked].method, "CONNECT", "{no}");
    }
    // Neither where the kubeconfig names a proxy, nor where the variable is in small letters.
    let text = std::fs::read_to_string(&elsewhere).expect("read");
    let own = format!("server: 'http://control.invalid:6443', proxy-url: '{}'", proxy.url());
    let text = text.replace("server: 'http://control.invalid:6443'", &own);
    let named = folder.path().join("named");
    std::fs::write(&named, text).expect("written");
    for variable in ["NO_PROXY", "no_proxy"] {
        finds(&list(&named, &[(variable, "a,,b,")]));
    }
    // Beside them, entries with sense hold.
    let other = direct.url().replace("127.0.0.1", "0.0.0.0");
    let kubeconfig = direct.kubeconfig(folder.path(), &other);
    let asked = proxy.seen().len();
    let own = format!("a,,b,{},", other.trim_start_matches("http://"));
    finds(&list(&kubeconfig, &[&both[..], &[("NO_PROXY", own.as_str())]].concat()));
    assert_eq!(proxy.seen().len(), asked, "the entry names the port of the server");
    finds(&list(&kubeconfig, &[&both[..], &[("NO_PROXY", "0.0.0.0:1")]].concat()));
    assert_eq!(proxy.seen()[asked].method, "CONNECT");
}
