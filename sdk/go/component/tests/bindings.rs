//! The committed bindings are those of the contract.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn read(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
}

#[test]
fn the_bindings_are_those_of_the_contract() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../internal/bindings");
    let mut found = BTreeMap::new();
    read(&root, &root, &mut found);
    let expected = go_component::bindings::generate().unwrap();
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    let advice = "run `cargo run -p go-component -- bindings`";
    assert_eq!(names(&found), names(&expected), "{advice}");
    for (name, text) in &expected {
        assert!(found.get(name) == Some(text), "sdk/go/internal/bindings/{name} is stale: {advice}");
    }
}
