//! Go: the Go compiler, and a library that makes a component of its module.

use std::ffi::OsStr;
use std::path::Path;

use go_component::Build;

use super::Error;
use super::tool::Need;

const GO: Need = Need {
    name: "Go",
    asks: "version",
    least: (1, 24),
    install: "install it from https://go.dev/dl/, and put its bin folder into PATH",
    renew: "install a newer one from https://go.dev/dl/",
};

pub(super) fn build(folder: &Path, output: &Path) -> Result<(), Error> {
    GO.check(OsStr::new("go"), folder)?;
    let build =
        Build { folder: folder.to_owned(), component: output.to_owned(), version: None, go: "go".into() };
    build.run().map(|_| ()).map_err(Error::Go)
}
