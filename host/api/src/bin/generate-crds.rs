//! Writes the CustomResourceDefinitions into a folder, by default `deploy` of this workspace: those of
//! machine-controller-manager's kinds below `crds`, those for Cluster API below `clusterctl/crds`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use machinist_api::{crd, infrastructure};

const DEFAULT_FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy");

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(DEFAULT_FOLDER), PathBuf::from);
    match write(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed to generate the CRDs into {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn write(folder: &Path) -> Result<(), Box<dyn Error>> {
    let all = [
        (folder.join("crds"), crd::definitions()?),
        (folder.join("clusterctl/crds"), infrastructure::definitions()?),
    ];
    for (folder, definitions) in all {
        std::fs::create_dir_all(&folder)?;
        for file in crd::files(&definitions)? {
            std::fs::write(folder.join(&file.name), &file.yaml)?;
            println!("{}", file.name);
        }
    }
    Ok(())
}
