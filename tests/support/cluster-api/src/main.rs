//! `cluster-api build` builds the programs and prints the folder that they are in. `cluster-api components DEPLOY`
//! writes the components of the repository for `clusterctl` from the folder `deploy`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cluster-api: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["build"] => println!("{}", cluster_api::programs()?.folder().display()),
        ["components", deploy] => {
            let deploy = Path::new(deploy);
            let path = cluster_api::repository::repository(deploy).join("infrastructure-components.yaml");
            std::fs::write(&path, cluster_api::repository::components(deploy)?)
                .with_context(|| format!("failed to write {}", path.display()))?;
        }
        _ => bail!("usage: cluster-api build|components DEPLOY"),
    }
    Ok(())
}
