//! `machinist plugin push --oci`, `inspect --oci`, `sign` and `keygen` against a real registry.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use machinist_artifacts::signature::cosign::Beside;
use machinist_artifacts::{Bundle, Keyring, Limits, Reference};
use registry::{Door, PASSWORD, Registry, USER};

struct Shop {
    registry: Registry,
    folder: tempfile::TempDir,
    component: PathBuf,
}

fn shop(door: Door) -> Shop {
    let folder = tempfile::tempdir().unwrap();
    let component = folder.path().join("sim.wasm");
    std::fs::write(&component, guests::bytes("sim-driver").unwrap()).unwrap();
    Shop { registry: Registry::start(door).unwrap(), folder, component }
}

impl Shop {
    fn reference(&self, rest: &str) -> String {
        format!("{}/{rest}", self.registry.address())
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_machinist"))
            .arg("plugin")
            .args(arguments)
            .env_remove("KUBECONFIG")
            .env("DOCKER_CONFIG", self.folder.path().join("docker"))
            .output()
            .unwrap()
    }

    #[track_caller]
    fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && !said.contains("panicked"), "{said}");
        said
    }

    fn file(&self) -> &str {
        self.component.to_str().unwrap()
    }
}

#[test]
fn a_component_is_pushed_signed_and_inspected_by_its_reference() {
    let shop = shop(Door::Open);
    let (key, reference) = (shop.path("k"), shop.reference("acme/sim:1"));
    assert!(shop.prints(&["keygen", &key]).contains("--plugin-keys"));
    let (private, public) = (format!("{key}.key"), format!("{key}.pub"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&private).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let said = shop.fails(&["keygen", &key]);
    assert!(said.contains("a key is never overwritten") && said.contains("name other files"), "{said}");
    let pushed = shop.prints(&["push", shop.file(), "--oci", &reference, "--sign", &private]);
    let pinned = pushed.trim().strip_prefix("signed ").unwrap();
    assert!(pinned.starts_with(&shop.reference("acme/sim@sha256:")), "{pinned}");
    for reference in [pinned, &reference] {
        let shown = shop.run(&["inspect", "--oci", reference]);
        assert!(shown.status.success());
        assert!(String::from_utf8_lossy(&shown.stderr).contains("1 signatures"));
        assert!(String::from_utf8_lossy(&shown.stdout).contains("Providers:"));
    }
    // The ConfigMap that would name it.
    let map = shop.prints(&["push", shop.file(), "--oci", &reference, "--configmap", "sim", "--dry-run"]);
    assert!(map.contains(&format!("oci: {reference}")) && !map.contains("plugin.wasm"), "{map}");
    let signature = shop.prints(&["sign", shop.file(), "--key", &private]);
    let ring = Keyring::read(Path::new(&public)).unwrap();
    assert!(ring.check_blob(&guests::bytes("sim-driver").unwrap(), &signature).is_ok());
    assert!(shop.prints(&["sign", "--oci", &reference, "--key", &private]).contains("is signed"));
}

#[test]
fn a_bundle_is_the_same_bytes_wherever_it_is_made_and_goes_beside_the_artifact() {
    let shop = shop(Door::Open);
    let key = shop.path("k");
    shop.prints(&["keygen", &key]);
    let private = format!("{key}.key");
    let (grants, settings) = (shop.path("grants.yaml"), shop.path("settings.json"));
    std::fs::write(&grants, "egress: []\nproviders: [sim]\n").unwrap();
    std::fs::write(&settings, "{}").unwrap();
    let texts = ["--grants", &grants, "--settings", &settings, "--plugin-name", "sim", "--counter", "7"];
    let text = shop.prints(&[&["bundle", shop.file()][..], &texts].concat());
    let bundle = Bundle::parse(&text).unwrap();
    assert_eq!((bundle.counter, bundle.parts.name.as_str()), (7, "sim"));
    assert_eq!(bundle.providers, ["sim".to_owned()].into());
    // A push would write the same, with a signature over it.
    let push = ["push", shop.file(), "--configmap", "sim-1", "--dry-run", "--sign", &private];
    let map = shop.prints(&[&push[..], &texts].concat());
    assert!(map.contains(&format!("bundle.json: '{text}'")) && map.contains("bundle.sig: "), "{map}");
    let reference = shop.reference("acme/sim:1");
    shop.prints(&[&["push", shop.file(), "--oci", &reference, "--sign", &private][..], &texts].concat());
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = machinist_artifacts::Registry::new(Limits::default(), |_| Ok(())).unwrap();
    let parsed: Reference = reference.parse().unwrap();
    let manifest = runtime.block_on(client.resolve(&parsed, None)).unwrap().digest;
    let beside = runtime.block_on(client.beside(Beside::Bundles, &parsed, manifest, None)).unwrap();
    assert_eq!(String::from_utf8(beside[0].payload.clone()).unwrap(), text);
    let ring = Keyring::read(Path::new(&format!("{key}.pub"))).unwrap();
    assert!(ring.check_blob(text.as_bytes(), &beside[0].signature).is_ok());
    // A provider that the driver claims and nobody signs for is no bundle.
    let said = shop.fails(&[&["bundle", shop.file(), "--provider", "aws"][..], &texts].concat());
    assert!(said.contains("claims provider sim") && said.contains("--provider"), "{said}");
    assert!(shop.fails(&["bundle", shop.file()]).contains("--plugin-name"));
    let large = shop.fails(&["bundle", shop.file(), "--plugin-name", "x", "--counter", "9007199254740992"]);
    assert!(large.contains("9007199254740991"), "{large}");
}

#[test]
fn an_artifact_that_is_no_component_is_not_signed() {
    let shop = shop(Door::Open);
    let key = shop.path("k");
    shop.prints(&["keygen", &key]);
    let private = format!("{key}.key");
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = machinist_artifacts::Registry::new(Limits::default(), |_| Ok(())).unwrap();
    for (tag, bytes) in [("text", &b"not a component"[..]), ("module", &b"\0asm\x01\0\0\0"[..])] {
        let reference = shop.reference(&format!("acme/junk:{tag}"));
        let parsed: Reference = reference.parse().unwrap();
        let bytes = bytes::Bytes::from_static(bytes);
        let manifest = runtime.block_on(client.push(&parsed, &bytes, &[], &[], None)).unwrap();
        let said = shop.fails(&["sign", "--oci", &reference, "--key", &private]);
        assert!(said.contains(&format!("@{manifest} is not signed: it is no component")), "{said}");
        let signatures = runtime.block_on(client.signatures(&parsed, manifest, None)).unwrap();
        assert!(signatures.is_empty(), "{tag}");
    }
    let absent = shop.reference("acme/absent:1");
    assert!(shop.fails(&["sign", "--oci", &absent, "--key", &private]).contains("has no manifest"));
}

#[test]
fn what_is_typed_wrongly_is_answered_with_the_next_step() {
    let shop = shop(Door::Open);
    let (file, here) = (shop.file(), shop.reference("sim:1"));
    let junk = shop.path("junk.wasm");
    std::fs::write(&junk, "not a component").unwrap();
    for (arguments, expected) in [
        (vec!["push", file], "--configmap"),
        (vec!["push", file, "--oci", "sim:1"], "names no registry"),
        (vec!["push", file, "--oci", "ghcr.io/sim"], "neither tag nor digest"),
        (vec!["push", &junk, "--oci", &here], "failed to verify the component"),
        (vec!["push", file, "--oci", &here, "--sign", "/nonexistent"], "failed to read the key"),
        (vec!["push", file, "--oci", &here, "--sign", file], "failed to read the key"),
        (vec!["push", file, "--oci", &here, "--sign", &junk], "plugin keygen"),
        (vec!["push", file, "--oci", "127.0.0.1:1/sim:1"], "failed to reach registry 127.0.0.1:1"),
        (vec!["push", file, "--oci", &here, "--registry-auth", &junk], "not a configuration of docker"),
        (vec!["inspect", "--oci", &here], "has no manifest sim:1"),
        (vec!["inspect", file, "--oci", &here], "cannot be used with"),
        (vec!["inspect"], "required"),
        (vec!["sign", "--key", &junk], "required"),
        (vec!["sign", "--oci", &here, "--key", &junk], "plugin keygen"),
    ] {
        let said = shop.fails(&arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let digest = shop.reference(&format!("sim@sha256:{}", "0".repeat(64)));
    assert!(shop.fails(&["push", file, "--oci", &digest]).contains("name a tag"));
}

#[test]
fn a_locked_registry_is_opened_by_the_login_of_docker_or_a_file() {
    let shop = shop(Door::Locked);
    let reference = shop.reference("sim:1");
    let push = ["push", shop.file(), "--oci", &reference];
    assert!(shop.fails(&push).contains("refuses sim without a login"));
    let config = |password: &str| {
        let (address, auth) =
            (shop.registry.address(), format!("\"username\":\"{USER}\",\"password\":\"{password}\""));
        format!("{{\"auths\":{{\"{address}\":{{{auth}}}}}}}")
    };
    let bad = shop.path("bad.json");
    std::fs::write(&bad, config("hunter2")).unwrap();
    let said = shop.fails(&[&push[..], &["--registry-auth", &bad]].concat());
    assert!(said.contains("with this login") && !said.contains("hunter2"), "{said}");
    std::fs::create_dir(shop.path("docker")).unwrap();
    std::fs::write(shop.path("docker/config.json"), config(PASSWORD)).unwrap();
    assert!(shop.prints(&push).contains("sim@sha256:"));
}

/// A program that keeps logins, in a folder of the PATH.
fn write_helper(shop: &Shop, name: &str, script: &str) {
    let path = shop.folder.path().join("bin").join(format!("docker-credential-{name}"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

fn push_with(shop: &Shop, config: &str) -> Output {
    std::fs::create_dir_all(shop.path("docker")).unwrap();
    std::fs::write(shop.path("docker/config.json"), config).unwrap();
    let path = format!("{}:{}", shop.path("bin"), std::env::var("PATH").unwrap());
    Command::new(env!("CARGO_BIN_EXE_machinist"))
        .args(["plugin", "push", shop.file(), "--oci", &shop.reference("sim:1")])
        .env_remove("KUBECONFIG")
        .env("DOCKER_CONFIG", shop.path("docker"))
        .env("PATH", path)
        .output()
        .unwrap()
}

#[test]
fn helpers_of_docker_are_asked_for_logins() {
    let shop = shop(Door::Locked);
    let address = shop.registry.address().to_owned();
    let login =
        format!(r#"{{"ServerURL":"$at","Username":"{USER}","Secret":"{PASSWORD}"}}"#).replace('"', "\\\"");
    let script = format!("read -r at; [ \"$at\" = {address} ] || exit 1\necho \"{login}\"");
    write_helper(&shop, "fits", &script);
    write_helper(&shop, "empty", "cat > /dev/null; echo credentials not found in native keychain; exit 1");
    for config in [
        format!(r#"{{"credHelpers":{{"{address}":"fits"}}}}"#),
        r#"{"auths":{},"credsStore":"fits"}"#.to_owned(),
    ] {
        let output = push_with(&shop, &config);
        assert!(output.status.success(), "{config}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let output = push_with(&shop, r#"{"credsStore":"empty"}"#);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("refuses sim without a login"), "{said}");
}

#[test]
fn a_helper_that_fails_is_named_and_keeps_nobody_from_public_artifacts() {
    let shop = shop(Door::Open);
    write_helper(&shop, "broken", "cat > /dev/null; echo the vault is sealed; exit 1");
    for (config, expected) in [
        (r#"{"credsStore":"broken"}"#, "the vault is sealed"),
        (r#"{"credsStore":"is-not-installed"}"#, "docker-credential-is-not-installed: is it installed"),
    ] {
        let output = push_with(&shop, config);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.contains(expected) && said.contains("is asked without a login"), "{said}");
    }
    assert!(push_with(&shop, "{}").status.success(), "a configuration without logins is one");
}
