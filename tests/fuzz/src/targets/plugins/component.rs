//! Bytes of components before they are compiled.

use machinist_plugin_host::component;
use machinist_plugin_host::component::Contract;
use wasm_encoder::{
    Component, ComponentExportKind, ComponentExportSection, ComponentImportSection, ComponentTypeRef,
    ComponentTypeSection, InstanceType, Module,
};
use wasmparser::{Parser, Payload};

use super::configmap::error_is_readable;
use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "component",
    about: "what a component imports and exports: unknown imports are refused, and names are told in visible words",
    grammar: Grammar::Bytes,
    samples,
    words: &[],
    share: 40,
    check,
};

/// The head of a component and nothing behind it.
pub(crate) const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fn samples() -> Vec<Vec<u8>> {
    let (driver, policy) = ("machinist:provider/driver@0.1.0", "machinist:policy/policy@0.1.0");
    let known =
        ["wasi:http/outgoing-handler@0.2.6", "wasi:clocks/wall-clock@0.2.6", "machinist:host/secrets@0.1.0"];
    let unknown = ["machinist:host/log@0.1.0", "acme:odd/thing@1.0.0", "wasi:sockets/tcp@0.2.6"];
    vec![
        importing(&known, driver),
        importing(&["machinist:host/log@0.1.0", "wasi:clocks/wall-clock@0.2.6"], policy),
        importing(&unknown, driver),
        importing(&known, "acme:odd/other@2.0.0"),
        Module::new().finish(),
        COMPONENT.to_vec(),
        samples::file("Cargo.toml"),
    ]
}

/// A component that imports instances of these names, and exports the first one under another.
fn importing(names: &[&str], export: &str) -> Vec<u8> {
    let mut types = ComponentTypeSection::new();
    types.instance(&InstanceType::new());
    let mut imports = ComponentImportSection::new();
    for name in names {
        imports.import(*name, ComponentTypeRef::Instance(0));
    }
    let mut component = Component::new();
    component.section(&types).section(&imports);
    let mut exports = ComponentExportSection::new();
    exports.export(export, ComponentExportKind::Instance, 0, None);
    component.section(&exports);
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
                names.extend(
                    section.into_iter().map_while(Result::ok).map(|import| import.name.name.to_owned()),
                );
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
        let outside = component::outside(input, contract);
        let inspected = component::inspect(input, contract);
        if let (Ok(outside), Ok(_)) = (&outside, &inspected) {
            promise(outside.unknown.is_empty(), || format!("unknown imports pass: {:?}", outside.unknown))?;
            let strange = imports(input).into_iter().find(|name| !is_known(name));
            promise(strange.is_none(), || format!("it passes with the import {strange:?}"))?;
        }
        shape = shape.and(match &inspected {
            Ok(inspection) => Shape::of(&format!("{} {}", inspection.granted.len(), inspection.inert.len())),
            Err(error) => error_is_readable(error)?,
        });
    }
    Ok(shape)
}
