//! The child's side of a compilation.

use std::io::{self, Read, Write as _};
use std::process::ExitCode;
use std::thread;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wasmtime::Engine;

use super::confine::confine;
use crate::calls::engine::CodeTier;
use crate::calls::engine::{self, CodeKind};
use crate::resources::low_priority::lower_own_priority;

/// Exit status for a component that does not compile; its reason is on stderr.
pub(crate) const REJECTED: u8 = 2;
/// Exit status of all other failures, which are not the component's fault; stderr has the cause.
pub(crate) const FAILED: u8 = 3;

/// No component is larger (the source's limits are checked by the parent).
const MOST_BYTES: u64 = 64 << 20;
/// Addresses, most of which are never used. The memory behind them has a limit that the parent names.
const MOST_ADDRESS_BYTES: u64 = 4 << 30;
/// Forty times what the largest known component takes.
const MOST_CPU_SECONDS: u64 = 600;
const MOST_FILE_BYTES: u64 = 1 << 30;

/// Runs a compiler process: component in through stdin, code out through stdout.
///
/// The binary calls this for its hidden subcommand `compile-component` and exits with the returned code. The call must
/// come before the process does anything else.
pub fn compile_main() -> ExitCode {
    match compile() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Rejected(error)) => {
            eprintln!("{error:#}");
            ExitCode::from(REJECTED)
        }
        Err(error @ (Error::Step { .. } | Error::Engine(_))) => {
            eprintln!("{error}");
            ExitCode::from(FAILED)
        }
    }
}

/// A failure of the compiler. The parent gets only its text.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("failed to {step}: {error}")]
    Step { step: &'static str, error: io::Error },
    #[error("failed to set up the compiler: {0:#}")]
    Engine(wasmtime::Error),
    #[error("{0:#}")]
    Rejected(wasmtime::Error),
}

fn step(step: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::Step { step, error }
}

fn compile() -> Result<(), Error> {
    humble().map_err(step("limit the compiler"))?;
    let mut input = io::stdin().lock();
    let header = Header::read(&mut input).map_err(step("read what to compile"))?;
    // The engine detects the processor, and so is created before the confinement.
    let engine = engine::compiling_engine(header.kind, header.tier).map_err(Error::Engine)?;
    limit(Resource::Data, header.memory_bytes).map_err(step("limit the compiler's memory"))?;
    let confinement = confine().map_err(step("confine the compiler"))?;
    io::stderr().write_all(confinement.line().as_bytes()).map_err(step("say what holds"))?;
    let component = header.component(&mut input).map_err(step("read the component"))?;
    drop(input);
    end_with_parent();
    let code = precompiled(&engine, &component)?;
    let mut output = io::stdout().lock();
    output.write_all(&code).and_then(|()| output.flush()).map_err(step("write the code"))
}

fn precompiled(engine: &Engine, component: &[u8]) -> Result<Vec<u8>, Error> {
    engine.precompile_component(component).map_err(Error::Rejected)
}

/// Last in line for the processor, and bounded: a component that makes the compiler explode ends the compiler only.
fn humble() -> io::Result<()> {
    lower_own_priority()?;
    limit(Resource::Core, 0)?;
    limit(Resource::As, MOST_ADDRESS_BYTES)?;
    limit(Resource::Cpu, MOST_CPU_SECONDS)?;
    limit(Resource::Fsize, MOST_FILE_BYTES)
}

/// Lowers a limit. A lower limit stays: an unprivileged process cannot raise it.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |hard| hard.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// The bytes before the component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) length: u64,
    pub(super) kind: CodeKind,
    pub(super) tier: CodeTier,
    /// As much memory may the compiler use.
    pub(super) memory_bytes: u64,
}

impl Header {
    pub(super) fn bytes(self) -> Vec<u8> {
        let kinds = [kind_byte(self.kind), tier_byte(self.tier)];
        [&self.length.to_le_bytes()[..], &kinds, &self.memory_bytes.to_le_bytes()].concat()
    }

    fn read(input: &mut impl Read) -> io::Result<Self> {
        let (mut length, mut code, mut memory) = ([0; 8], [0; 2], [0; 8]);
        input.read_exact(&mut length)?;
        input.read_exact(&mut code)?;
        input.read_exact(&mut memory)?;
        let (length, memory_bytes) = (u64::from_le_bytes(length), u64::from_le_bytes(memory));
        let [kind, tier] = code;
        let kind = [CodeKind::Standard, CodeKind::Inspected, CodeKind::Policy]
            .into_iter()
            .find(|known| kind_byte(*known) == kind);
        let tier = CodeTier::ALL.into_iter().find(|known| tier_byte(*known) == tier);
        let (Some(kind), Some(tier)) = (kind, tier) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{code:?} is no kind of code")));
        };
        if length > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{length} bytes are too many")));
        }
        Ok(Self { length, kind, tier, memory_bytes })
    }

    fn component(self, input: &mut impl Read) -> io::Result<Vec<u8>> {
        let mut component = Vec::new();
        input.take(self.length).read_to_end(&mut component)?;
        if component.len() as u64 != self.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(component)
    }
}

fn kind_byte(kind: CodeKind) -> u8 {
    match kind {
        CodeKind::Standard => 0,
        CodeKind::Inspected => 1,
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

    fn read(mut message: &[u8]) -> io::Result<(Header, Vec<u8>)> {
        let header = Header::read(&mut message)?;
        Ok((header, header.component(&mut message)?))
    }

    #[test]
    fn a_component_comes_whole_or_not_at_all() {
        for kind in [CodeKind::Standard, CodeKind::Inspected, CodeKind::Policy] {
            for tier in CodeTier::ALL {
                let header = Header { length: 5, kind, tier, memory_bytes: 7 << 20 };
                let message = [&header.bytes()[..], b"bytes and more"].concat();
                assert_eq!(read(&message).expect("is whole"), (header, b"bytes".to_vec()));
                assert!(read(&message[..20]).is_err());
                assert!(read(&Header { length: u64::MAX, ..header }.bytes()).is_err());
            }
        }
        let unknown = [&5_u64.to_le_bytes()[..], &[0, 3], &[0; 8], b"bytes"].concat();
        assert!(read(&unknown).is_err());
    }
}
