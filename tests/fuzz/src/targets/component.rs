//! Bytes of components before they are compiled.

use machinist_plugin_host::verify::{self, Contract};
use wasm_encoder::{
    Component, ComponentImportSection, ComponentTypeRef, ComponentTypeSection, InstanceType, Module,
};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, dummy_module, embed_component_metadata};
use wit_parser::{ManglingAndAbi, Resolve};

use super::configmap::is_told;
use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(super) const TARGET: Target = Target {
    name: "component",
    about: "what a component imports and exports: unknown imports are refused, and names are told in visible words",
    grammar: Grammar::Bytes,
    samples,
    words: &[],
    share: 60,
    check,
};

/// The head of a component and nothing behind it.
pub(super) const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fn samples() -> Vec<Vec<u8>> {
    let of = |folder, world| of_world(folder, world).unwrap_or_else(|error| panic!("{world}: {error}"));
    let mut names = vec![
        "wasi:http/outgoing-handler@0.2.6",
        "wasi:clocks/wall-clock@0.2.6",
        "machinist:host/secrets@0.1.0",
    ];
    let known = importing(&names);
    names.push("wasi:sockets/tcp@0.2.6");
    names.push("acme:odd/thing@1.0.0");
    vec![
        of("wit/provider/0.1.0", "provider"),
        of("wit/policy/0.1.0", "health-policy"),
        known,
        importing(&names),
        Module::new().finish(),
        COMPONENT.to_vec(),
        samples::file("Cargo.toml"),
    ]
}

/// A component that offers the world and does nothing.
fn of_world(folder: &str, world: &str) -> anyhow::Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let (package, _) = resolve.push_dir(&path)?;
    let world = resolve.select_world(&[package], Some(world))?;
    let mut module = dummy_module(&resolve, world, ManglingAndAbi::Standard32);
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default().module(&module)?.encode()
}

/// A component that imports instances of these names.
fn importing(names: &[&str]) -> Vec<u8> {
    let mut types = ComponentTypeSection::new();
    types.instance(&InstanceType::new());
    let mut imports = ComponentImportSection::new();
    for name in names {
        imports.import(*name, ComponentTypeRef::Instance(0));
    }
    let mut component = Component::new();
    component.section(&types).section(&imports);
    component.finish()
}

/// The names of all that a component imports, as another reader finds them.
fn imports(component: &[u8]) -> Vec<String> {
    let mut depth = 0_usize;
    let mut names = Vec::new();
    for payload in Parser::new(0).parse_all(component).map_while(Result::ok) {
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                names.extend(section.into_iter().map_while(Result::ok).map(|import| import.name.name.to_owned()));
            }
            _ => {}
        }
    }
    names
}

fn is_known(import: &str) -> bool {
    ["wasi:", "machinist:host/", "machinist:provider/types@", "machinist:policy/types@"]
        .iter()
        .any(|known| import.starts_with(known))
}

fn check(input: &[u8]) -> Verdict {
    let mut shape = Shape::of("");
    for contract in [Contract::Driver, Contract::HealthPolicy] {
        let outside = verify::outside(input, contract);
        let inspected = verify::inspect(input, contract);
        if let (Ok(outside), Ok(_)) = (&outside, &inspected) {
            promise(outside.unknown.is_empty(), || format!("unknown imports pass: {:?}", outside.unknown))?;
            let strange = imports(input).into_iter().find(|name| !is_known(name));
            promise(strange.is_none(), || format!("it passes with the import {strange:?}"))?;
        }
        shape = shape.and(match &inspected {
            Ok(inspection) => Shape::of(&format!("{} {}", inspection.granted.len(), inspection.inert.len())),
            Err(error) => is_told(error)?,
        });
    }
    Ok(shape)
}
