//! The container file: no engine builds it here, but what it says must fit the rest.

use super::{container, deploy, deployment, text};

/// The instructions of a container file, each in one line.
fn instructions() -> Vec<(String, String)> {
    let text = text(&deploy("Containerfile")).unwrap().replace("\\\n", " ");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            (word.to_owned(), rest.trim().to_owned())
        })
        .collect()
}

fn all(word: &str) -> Vec<String> {
    instructions().into_iter().filter(|(own, _)| own == word).map(|(_, rest)| rest).collect()
}

fn only(word: &str) -> String {
    let mut found = all(word);
    assert_eq!(found.len(), 1, "{word}: {found:?}");
    found.remove(0)
}

#[test]
fn it_runs_the_binary_that_it_has_built_under_the_deployments_user() {
    let folder = only("WORKDIR");
    let runs = all("RUN");
    assert!(runs.iter().any(|run| run == "cargo build --release --locked --package machinist"), "{runs:?}");
    let copies = all("COPY");
    let binary = copies.iter().find_map(|copy| copy.strip_prefix("--from=build ")).expect("it is copied");
    let (from, to) = binary.split_once(' ').expect("from and to");
    assert_eq!(from, format!("{folder}/target/release/machinist"));
    assert_eq!(only("ENTRYPOINT"), format!("[{to:?}]"));
    for name in ["machine-controller-manager", "machine-controller"] {
        let link = format!("ln -s {to} /{name}");
        assert!(runs.iter().any(|run| run.split(" && ").any(|command| command.trim() == link)), "{link}");
    }
    let pod = deployment().unwrap()["spec"]["template"]["spec"]["securityContext"].clone();
    // The default of --cache-dir: pods made for machine-controller-manager name no other, and mount none.
    let (user, group) = (&pod["runAsUser"], &pod["runAsGroup"]);
    let folder =
        format!("install --directory --mode 0700 --owner {user} --group {group} /var/cache/machinist");
    assert!(runs.contains(&folder), "{runs:?}");
    assert_eq!(only("USER"), format!("{}:{}", pod["runAsUser"], pod["runAsGroup"]));
    assert_eq!(only("EXPOSE"), container(&deployment().unwrap())["ports"][0]["containerPort"].to_string());
    assert!(container(&deployment().unwrap())["command"].is_null(), "the entry point is the image's");
}

#[test]
fn it_builds_with_the_release_of_the_workspace_and_has_authorities_for_tls() {
    let toolchain = text(&deploy("../rust-toolchain.toml")).unwrap();
    let release = toolchain.split('"').nth(1).expect("the channel is the first text");
    let stages = all("FROM");
    assert!(
        stages[0].starts_with(&format!("rust:{release}-")) && stages[0].ends_with(" AS build"),
        "{stages:?}"
    );
    assert_eq!(stages.len(), 2, "what builds is not what runs: {stages:?}");
    let is_trixie = |stage: &String| stage.split(['-', ':', ' ']).any(|word| word == "trixie");
    assert!(stages.iter().all(is_trixie), "the libraries are those it was linked to: {stages:?}");
    assert!(all("RUN").iter().any(|run| run.contains("ca-certificates")));
}

#[test]
fn the_image_that_is_built_is_the_one_that_the_deployment_runs() {
    let image = container(&deployment().unwrap())["image"].as_str().unwrap().to_owned();
    assert_eq!(image, format!("machinist:{}", env!("CARGO_PKG_VERSION")));
    let head = text(&deploy("Containerfile")).unwrap();
    assert!(head.lines().next().unwrap_or_default().contains(&format!("--tag {image} ")), "{image}");
    let images = super::document("deployment/kustomization.yaml").unwrap()["images"][0].clone();
    assert_eq!(image, format!("{}:{}", images["name"].as_str().unwrap(), images["newTag"].as_str().unwrap()));
}
