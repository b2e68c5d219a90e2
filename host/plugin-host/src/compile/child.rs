//! The child's side of a compilation.

use std::io::{self, Read, Write as _};
use std::process::ExitCode;
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::engine::{self, CodeKind};
use crate::patience::stand_back;
use crate::tier::CodeTier;

/// Exit status for a component that does not compile; its reason is on stderr.
pub(crate) const REJECTED: u8 = 2;
/// Exit status for everything else that goes wrong.
const FAILED: u8 = 3;

/// No component is larger (the source's limits are checked by the parent).
const MOST_BYTES: u64 = 64 << 20;
/// Ten times what the largest known component takes.
const MOST_MEMORY_BYTES: u64 = 4 << 30;
/// Forty times what the largest known component takes.
const MOST_CPU_SECONDS: u64 = 600;
const MOST_FILE_BYTES: u64 = 1 << 30;

/// The whole life of a compiler process: component in through stdin, code out through stdout.
///
/// The binary calls this for its hidden subcommand `compile-component` and exits with what it returns. It must be called
/// before the process does anything else.
pub fn compile_main() -> ExitCode {
    if let Err(error) = humble() {
        eprintln!("failed to limit the compiler: {error}");
        return ExitCode::from(FAILED);
    }
    let (kind, tier, component) = match component(&mut io::stdin().lock()) {
        Ok(read) => read,
        Err(error) => {
            eprintln!("failed to read the component: {error}");
            return ExitCode::from(FAILED);
        }
    };
    end_with_parent();
    let engine = match engine::compiling_engine(kind, tier) {
        Ok(engine) => engine,
        Err(error) => {
            eprintln!("failed to set up the compiler: {error:#}");
            return ExitCode::from(FAILED);
        }
    };
    let code = match engine.precompile_component(&component) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error:#}");
            return ExitCode::from(REJECTED);
        }
    };
    let mut output = io::stdout().lock();
    match output.write_all(&code).and_then(|()| output.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed to write the code: {error}");
            ExitCode::from(FAILED)
        }
    }
}

/// Last in line for the processor, and bounded: a component that makes the compiler explode ends the compiler only.
fn humble() -> io::Result<()> {
    stand_back()?;
    let limits = [
        (Resource::Core, 0),
        (Resource::As, MOST_MEMORY_BYTES),
        (Resource::Cpu, MOST_CPU_SECONDS),
        (Resource::Fsize, MOST_FILE_BYTES),
    ];
    for (resource, most) in limits {
        // What is lower already stays: nobody may raise it.
        let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// What goes before the component.
pub(super) fn header(length: u64, kind: CodeKind, tier: CodeTier) -> [u8; 10] {
    let [a, b, c, d, e, f, g, h] = length.to_le_bytes();
    [a, b, c, d, e, f, g, h, kind_byte(kind), tier_byte(tier)]
}

fn kind_byte(kind: CodeKind) -> u8 {
    match kind {
        CodeKind::Usual => 0,
        CodeKind::Witnessed => 1,
        CodeKind::Policy => 2,
    }
}

fn tier_byte(tier: CodeTier) -> u8 {
    match tier {
        CodeTier::Baseline => 0,
        CodeTier::Quick => 1,
        CodeTier::Optimised => 2,
    }
}

fn component(input: &mut impl Read) -> io::Result<(CodeKind, CodeTier, Vec<u8>)> {
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut code = [0; 2];
    input.read_exact(&mut code)?;
    let [kind, tier] = code;
    let kind = [CodeKind::Usual, CodeKind::Witnessed, CodeKind::Policy]
        .into_iter()
        .find(|known| kind_byte(*known) == kind);
    let tier = CodeTier::ALL.into_iter().find(|known| tier_byte(*known) == tier);
    let (Some(kind), Some(tier)) = (kind, tier) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{code:?} is no kind of code")));
    };
    if length > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{length} bytes are too many")));
    }
    let mut component = Vec::new();
    input.take(length).read_to_end(&mut component)?;
    if component.len() as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok((kind, tier, component))
}

/// Nothing more comes through stdin; its end is the parent's end.
fn end_with_parent() {
    thread::spawn(|| {
        let _ended = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(i32::from(FAILED));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_comes_whole_or_not_at_all() {
        for kind in [CodeKind::Usual, CodeKind::Witnessed, CodeKind::Policy] {
            for tier in CodeTier::ALL {
                let message = [&header(5, kind, tier)[..], b"bytes and more"].concat();
                assert_eq!(component(&mut &message[..]).expect("is whole"), (kind, tier, b"bytes".to_vec()));
                assert!(component(&mut &message[..11]).is_err());
                assert!(component(&mut &header(u64::MAX, kind, tier)[..]).is_err());
            }
        }
        let unknown = [&5_u64.to_le_bytes()[..], &[0, 3], b"bytes"].concat();
        assert!(component(&mut &unknown[..]).is_err());
    }
}
