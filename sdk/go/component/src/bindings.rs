//! Go code of the contract, as it is checked in at `sdk/go/internal/bindings`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use wit_bindgen_core::Files;
use wit_bindgen_go::{Format, Opts};

use crate::contract::World;

/// The module's internal packages.
const INTERNAL: &str = "github.com/machinist-dev/machinist/sdk/go/internal";
/// What the generator takes for the home of its runtime. The SDK has its own: the generator's runtime is not in every registry, and its
/// allocations may start a garbage collection where the host forbids it.
const FOREIGN_RUNTIME: &str = "go.bytecodealliance.org/pkg/wit";
/// The worlds that hold everything, and the folders of their code.
const WORLDS: [(World, &str); 2] = [(World::FullProvider, "provider"), (World::HealthPolicy, "policy")];

/// All files, by their path below the folder of bindings.
///
/// Fails when the generator or `gofmt` does.
pub fn generate() -> Result<BTreeMap<String, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for (world, folder) in WORLDS {
        let (mut resolve, id) = world.resolve()?;
        let mut files = Files::default();
        let options = Opts {
            format: Format::False,
            pkg_name: Some(format!("{INTERNAL}/bindings/{folder}")),
            export_pkg_name: Some(format!("{INTERNAL}/component")),
            ..Opts::default()
        };
        let mut generator = options.build();
        generator
            .generate(&mut resolve, id, &mut files)
            .with_context(|| format!("failed to generate the world {}", world.name()))?;
        // The rest are stubs for builds without WebAssembly, in which none of this takes part.
        for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".go")) {
            let text = std::str::from_utf8(text).context("the generator wrote something else than text")?;
            let text = text.replace(FOREIGN_RUNTIME, &format!("{INTERNAL}/wit"));
            let formatted = formatted(&format!("//go:build wasip1\n\n{text}"))
                .with_context(|| format!("failed to format {path}"))?;
            all.insert(format!("{folder}/{path}"), formatted);
        }
    }
    Ok(all)
}

fn formatted(source: &str) -> Result<Vec<u8>> {
    let mut gofmt = Command::new("gofmt")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context(
            "failed to start gofmt: install Go from https://go.dev/dl/, and put its bin folder into PATH",
        )?;
    let mut input = gofmt.stdin.take().context("gofmt has no input")?;
    let source = source.to_owned();
    let writer = std::thread::spawn(move || input.write_all(source.as_bytes()));
    let output = gofmt.wait_with_output().context("failed to wait for gofmt")?;
    if !matches!(writer.join(), Ok(Ok(()))) || !output.status.success() {
        bail!("gofmt refused it: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}
