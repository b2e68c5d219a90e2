//! Writes the CustomResourceDefinitions into a folder, by default `deploy/crds` of this workspace.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

const DEFAULT_FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");

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

fn write(folder: &std::path::Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    for file in machinist_api::crd::files()? {
        std::fs::write(folder.join(&file.name), &file.yaml)?;
        println!("{}", file.name);
    }
    Ok(())
}
