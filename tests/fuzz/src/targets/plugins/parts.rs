//! Indices of components in parts, and their assembly.

use std::collections::BTreeMap;

use bytes::Bytes;
use machinist_plugin_host::parts::{Assembly, FoundPart, Index, Part};
use machinist_plugin_host::testing::PartNumber;

use super::configmap::error_is_readable;
use crate::mutate::Grammar;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "parts",
    about: "an index of parts: what is read is written again as it was, and only parts of its digests make a component",
    grammar: Grammar::Json,
    samples,
    words: &["encoding", "none", "gzip", "zstd", "parts", "configMap", "sha256"],
    share: 30,
    check,
};

const BYTES: [&[u8]; 2] = [b"the first half, ", b"and the second"];

fn parts() -> Vec<Part> {
    let place = |number| PartNumber { number, total: BYTES.len() };
    (1..).zip(BYTES).map(|(number, bytes)| Part::new(place(number), Bytes::from_static(bytes))).collect()
}

fn samples() -> Vec<Vec<u8>> {
    let named = |(number, part): (usize, &Part)| serde_json::json!({ "configMap": format!("aws-{number}"), "sha256": part.digest.hex() });
    let entries: Vec<_> = (1..).zip(&parts()).map(named).collect();
    let index = |parts: &[serde_json::Value]| serde_json::json!({ "encoding": "none", "parts": parts });
    vec![index(&entries).to_string().into_bytes(), index(&entries[..1]).to_string().into_bytes()]
}

fn check(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let index = match Index::parse(&text) {
        Ok(index) => index,
        Err(error) => return error_is_readable(&error),
    };
    let again = Index::parse(&index.to_json());
    promise(again.is_ok_and(|again| again == index), || "an index is not read as it was written".to_owned())?;
    let found: BTreeMap<String, FoundPart> =
        (1..).zip(parts()).map(|(number, part)| (format!("aws-{number}"), FoundPart::Part(part))).collect();
    let assembled = index.assemble(|name| found.get(name));
    if let Ok(Assembly::Complete(packed)) = &assembled {
        let wanted: Vec<_> = parts().iter().map(|part| part.digest).collect();
        let named: Vec<_> = index.parts.iter().map(|part| part.digest).collect();
        promise(named == wanted, || "parts of other digests make a component".to_owned())?;
        promise(packed.size() == BYTES.concat().len(), || "a component lacks a part".to_owned())?;
    }
    Ok(Shape::of_result(&assembled.map(|assembly| format!("{assembly:?}").len())))
}
