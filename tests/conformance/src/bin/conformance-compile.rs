//! Compiles a component from stdin to stdout: what the kit's own tests give the plugin host as its compiler.

fn main() -> std::process::ExitCode {
    machinist_plugin_host::compile_main()
}
