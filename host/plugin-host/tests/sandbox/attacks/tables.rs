//! Tables of functions grow, too. No tool chain emits these instructions: they are written into components by hand.

use serde_json::json;
use wasmparser::{Parser, Payload};

use super::scene::Scene;
use crate::fixture::{Fixture, Map, plain};

#[tokio::test]
async fn attack_table_flood() {
    let scene = Scene::of(guests::hostile().expect("the driver builds")).await;
    scene.breaks(&json!({ "do": "grow-table", "elements": 30_000 }), "tables").await;
    scene.breaks(&json!({ "do": "grow-table", "elements": 4_000_000_000_u64 }), "tables").await;
    // Within its limit a table that its module has closed does not grow, and nothing breaks.
    let report = scene.report(&json!({ "do": "grow-table", "elements": 1 })).await;
    assert_eq!(report["was"], u32::MAX, "{report}");
}

/// The plain driver with one more core module, which is instantiated with it.
fn with_module(sections: &[u8]) -> Vec<u8> {
    let plain = plain();
    let modules = Parser::new(0)
        .parse_all(&plain)
        .filter(|payload| matches!(payload, Ok(Payload::ModuleSection { .. })))
        .count();
    let index = u8::try_from(modules).expect("few modules");
    let module = [b"\0asm\x01\0\0\0", sections].concat();
    let length = u8::try_from(module.len()).expect("a short module");
    assert!(index < 128 && length < 128, "one byte of LEB128 each");
    // A section with the module, and one with an instance of it.
    [&plain[..], &[1, length], &module, &[2, 4, 1, 0, index, 0]].concat()
}

#[tokio::test]
async fn attack_table_in_the_declaration() {
    let world = Fixture::new();
    world.ready(Map::plain("stable", "1.0.0", &["plain"])).await;
    for (sections, named) in [
        // A table of a million elements.
        (&[4, 6, 1, 0x70, 0, 0xc0, 0x84, 0x3d][..], "table"),
        // A table that a start function grows by 30,000: types, functions, tables, start, code.
        (
            &[
                1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 4, 4, 1, 0x70, 0, 0, 8, 1, 0, 10, 14, 1, 12, 0, 0xd0, 0x70,
                0x41, 0xb0, 0xea, 1, 0xfc, 0x0f, 0, 0x1a, 0x0b,
            ],
            "table",
        ),
    ] {
        let reason = world.rejected(Map::new("hoard", with_module(sections))).await;
        assert!(reason.contains(named), "{reason}");
        assert_eq!(world.version("plain").await, "1.0.0", "others do not notice");
    }
    let rejected = "machinist_plugin_state{plugin=\"hoard\",source=\"machinist/hoard\",state=\"Rejected\"}";
    assert_eq!(world.metric(rejected), 1);
}
