//! Compiles one component, as the host's hidden subcommand does. For the tests and benchmarks of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    machinist_plugin_host::compile_main()
}
