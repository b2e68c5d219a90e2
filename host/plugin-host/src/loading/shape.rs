//! Bounds on the code of a component, checked before it is compiled.
//!
//! A compiler takes memory and time out of proportion for functions that no tool chain makes: millions of bytes, values
//! that live through the whole function, deeply nested blocks. The maximum of real components, in Rust, Go, JavaScript
//! and Python, is written beside each bound.

use std::fmt;

use wasmparser::{BinaryReaderError, FunctionBody, Operator, Parser, Payload};

/// Something of a component that is larger than the host compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has {found} {what}, and the host compiles at most {most}: {}", what.advice())]
pub(crate) struct TooLarge {
    what: Measure,
    found: u64,
    most: u64,
}

/// Why a component is not compiled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    #[error("its code cannot be read")]
    Damaged(#[from] BinaryReaderError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Modules,
    Functions,
    CodeBytes,
    FunctionBytes,
    Locals,
    Blocks,
    Depth,
}

impl Measure {
    const ALL: [Self; 7] = [
        Self::Modules,
        Self::Functions,
        Self::CodeBytes,
        Self::FunctionBytes,
        Self::Locals,
        Self::Blocks,
        Self::Depth,
    ];

    fn most(self) -> u64 {
        match self {
            // Python's tool chain links 14 modules in 3 components.
            Self::Modules => 64,
            // Python has 13,517, JavaScript 12,877, Go 3,045, Rust 780.
            Self::Functions => 60_000,
            // JavaScript has 9.2 MB, Python 6.6 MB, Go 3 MB.
            Self::CodeBytes => 32 << 20,
            // Python has one of 426,843, JavaScript of 171,628, Go of 29,238.
            Self::FunctionBytes => 1 << 20,
            // Python has 271, JavaScript 118.
            Self::Locals => 2_000,
            // JavaScript has 4,216, Python 3,112.
            Self::Blocks => 16_000,
            // Python has 781, Go 549, JavaScript 456.
            Self::Depth => 2_000,
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::Modules => "link its modules before they become a component",
            Self::Functions | Self::CodeBytes => {
                "build it with optimisation for size, and leave out what it does not use"
            }
            Self::FunctionBytes | Self::Locals | Self::Blocks | Self::Depth => {
                "split the function, or build it with less inlining; compilers of known languages make none like it"
            }
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Modules => "modules and components inside",
            Self::Functions => "functions",
            Self::CodeBytes => "bytes of code",
            Self::FunctionBytes => "bytes in one function",
            Self::Locals => "variables in one function",
            Self::Blocks => "blocks in one function",
            Self::Depth => "blocks inside of each other",
        })
    }
}

/// Checks all bounds, and stops at the first that is passed. Returns how many bytes of code there are. Reads the
/// whole component: not for a thread that others wait for.
pub(crate) fn check(component: &[u8]) -> Result<u64, Error> {
    let mut found = Measured([0; Measure::ALL.len()]);
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                found.add(Measure::Modules, 1)?;
            }
            Payload::CodeSectionEntry(body) => found.function(&body)?,
            _ => {}
        }
    }
    Ok(found.of(Measure::CodeBytes))
}

struct Measured([u64; Measure::ALL.len()]);

impl Measured {
    fn function(&mut self, body: &FunctionBody<'_>) -> Result<(), Error> {
        let bytes = u64::try_from(body.range().len()).unwrap_or(u64::MAX);
        self.add(Measure::Functions, 1)?;
        self.add(Measure::CodeBytes, bytes)?;
        within(Measure::FunctionBytes, bytes)?;
        let mut locals = 0_u64;
        for local in body.get_locals_reader()? {
            locals = locals.saturating_add(local?.0.into());
        }
        within(Measure::Locals, locals)?;
        let (mut blocks, mut depth) = (0, 0);
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::Block { .. }
                | Operator::Loop { .. }
                | Operator::If { .. }
                | Operator::TryTable { .. } => {
                    (blocks, depth) = (blocks + 1, depth + 1);
                    within(Measure::Blocks, blocks)?;
                    within(Measure::Depth, depth)?;
                }
                Operator::End => depth = u64::saturating_sub(depth, 1),
                _ => {}
            }
        }
        Ok(())
    }

    fn of(&self, what: Measure) -> u64 {
        let place = Measure::ALL.iter().position(|known| *known == what);
        place.and_then(|place| self.0.get(place)).copied().unwrap_or_default()
    }

    fn add(&mut self, what: Measure, more: u64) -> Result<(), TooLarge> {
        let place = Measure::ALL.iter().position(|known| *known == what);
        let Some(sum) = place.and_then(|place| self.0.get_mut(place)) else { return Ok(()) };
        *sum = sum.saturating_add(more);
        within(what, *sum)
    }
}

fn within(what: Measure, found: u64) -> Result<(), TooLarge> {
    let most = what.most();
    if found <= most { Ok(()) } else { Err(TooLarge { what, found, most }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number as WebAssembly writes it.
    fn leb(mut value: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let byte = u8::try_from(value & 0x7f).expect("seven bits");
            value >>= 7;
            if value == 0 {
                bytes.push(byte);
                return bytes;
            }
            bytes.push(byte | 0x80);
        }
    }

    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        [&[id][..], &leb(content.len()), content].concat()
    }

    /// A component with a module of so many functions, each with these variables and this code.
    fn component(functions: usize, locals: usize, code: &[u8]) -> Vec<u8> {
        let declared = if locals == 0 { vec![0] } else { [&[1][..], &leb(locals), &[0x7f]].concat() };
        let body = [&declared[..], code, &[0x0b]].concat();
        let body = [leb(body.len()), body].concat();
        let module = [
            b"\0asm\x01\0\0\0".to_vec(),
            section(1, &[1, 0x60, 0, 0]),
            section(3, &[leb(functions), vec![0; functions]].concat()),
            section(10, &[leb(functions), body.repeat(functions)].concat()),
        ]
        .concat();
        [b"\0asm\x0d\0\x01\0".to_vec(), section(1, &module)].concat()
    }

    #[track_caller]
    fn refused(component: &[u8], beginning: &str) {
        let text = check(component).expect_err("too large").to_string();
        assert!(text.starts_with(beginning), "{text}");
    }

    #[test]
    fn attack_code_that_no_tool_chain_makes() {
        let nested = |depth| [[2, 0x40].repeat(depth), vec![0x0b; depth]].concat();
        let beside = |blocks| [2, 0x40, 0x0b].repeat(blocks);
        for (good, bad, reason) in [
            (
                component(1, 0, &[1; 1_000_000]),
                component(1, 0, &[1; 7_000_000]),
                "it has 7000002 bytes in one",
            ),
            (component(1, 2_000, &[]), component(1, 2_001, &[]), "it has 2001 variables in one function"),
            (component(1, 0, &nested(2_000)), component(1, 0, &nested(100_000)), "it has 2001 blocks inside"),
            (
                component(1, 0, &beside(16_000)),
                component(1, 0, &beside(16_001)),
                "it has 16001 blocks in one",
            ),
            (component(60_000, 0, &[]), component(60_001, 0, &[]), "it has 60001 functions"),
            (
                component(30, 0, &[1; 1_000_000]),
                component(34, 0, &[1; 1_000_000]),
                "it has 34000068 bytes of",
            ),
        ] {
            check(&good).expect("is within its bounds");
            refused(&bad, reason);
        }
        let parts = |count: usize| {
            [b"\0asm\x0d\0\x01\0".to_vec(), section(1, b"\0asm\x01\0\0\0").repeat(count)].concat()
        };
        check(&parts(64)).expect("is within its bounds");
        refused(
            &parts(65),
            "it has 65 modules and components inside, and the host compiles at most 64: link",
        );
        assert!(matches!(check(&parts(2)[..20]), Err(Error::Damaged(_))));
    }

    #[test]
    fn components_of_all_languages_have_room() {
        for package in ["aws-driver", "hostile-driver"] {
            check(&guests::bytes(package).expect("builds")).expect("is within its bounds");
        }
        check(&guests::go_bytes("examples/driver-sim").expect("builds")).expect("is within its bounds");
    }
}
