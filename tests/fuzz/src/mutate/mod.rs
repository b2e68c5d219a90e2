//! Makes inputs: good samples with a few changes, by the grammar that the samples have.
//!
//! A parser refuses almost all random bytes in its first line. A sample that is changed in one or two places gets far
//! into it, so most changes keep the grammar: values, fields, elements and words are replaced, removed, repeated and
//! exchanged between samples. Some changes break it.
//!
//! | module | what it does |
//! | --- | --- |
//! | `tree` | changes of JSON and YAML that keep the grammar |
//! | `markup` | changes of XML by whole elements |
//! | `words` | changes of texts by words: letters and digits, blanks, single signs |
//! | `bytes` | changes of any bytes |
//! | `unusual` | values that parsers often fail on |

mod bytes;
mod markup;
mod tree;
mod unusual;
mod words;

use crate::rng::Rng;

/// The language of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    Json,
    Yaml,
    Xml,
    Text,
    Bytes,
}

/// Longer inputs only cost time: what a length breaks, this one breaks.
const MOST_BYTES: usize = 256 * 1024;

/// Makes the next input out of `base`, with pieces of `other` and of these words.
pub fn mutated(grammar: Grammar, base: &[u8], other: &[u8], dictionary: &[&str], rng: &mut Rng) -> Vec<u8> {
    let mut input = base.to_vec();
    let changes = 1 + rng.length(6);
    for _ in 0..changes {
        input = once(grammar, &input, other, dictionary, rng);
        input.truncate(MOST_BYTES);
    }
    input
}

fn once(grammar: Grammar, base: &[u8], other: &[u8], dictionary: &[&str], rng: &mut Rng) -> Vec<u8> {
    let by_grammar = match grammar {
        _ if rng.once_in(12) => None,
        Grammar::Json | Grammar::Yaml if !rng.once_in(6) => {
            tree::mutated(grammar, base, other, dictionary, rng)
        }
        Grammar::Xml if !rng.once_in(4) => markup::mutated(base, other, dictionary, rng),
        Grammar::Bytes => None,
        Grammar::Json | Grammar::Yaml | Grammar::Xml | Grammar::Text => {
            Some(words::mutated(base, other, dictionary, rng))
        }
    };
    by_grammar.unwrap_or_else(|| bytes::mutated(base, other, rng))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const JSON: &[u8] = br#"{"a": [1, {"b": "text"}], "c": null, "d": {"e": true}}"#;

    fn inputs(grammar: Grammar, base: &[u8], seed: u64) -> Vec<Vec<u8>> {
        let mut rng = Rng::new(seed);
        (0..2_000).map(|_| mutated(grammar, base, JSON, &["word"], &mut rng)).collect()
    }

    #[test]
    fn a_seed_makes_the_same_inputs_each_time_and_another_seed_makes_others() {
        for grammar in [Grammar::Json, Grammar::Yaml, Grammar::Xml, Grammar::Text, Grammar::Bytes] {
            assert_eq!(inputs(grammar, JSON, 7), inputs(grammar, JSON, 7));
            assert_ne!(inputs(grammar, JSON, 7), inputs(grammar, JSON, 8));
        }
    }

    #[test]
    fn most_inputs_keep_the_grammar_and_some_break_it() {
        let json = inputs(Grammar::Json, JSON, 1);
        let kept = json.iter().filter(|input| serde_json::from_slice::<serde_json::Value>(input).is_ok());
        assert!((500..1_900).contains(&kept.count()));
        let xml = inputs(Grammar::Xml, b"<a><b>text</b><c x='1'/><d><e/></d></a>", 1);
        let kept = xml.iter().filter_map(|input| std::str::from_utf8(input).ok());
        assert!((300..1_900).contains(&kept.filter(|text| roxmltree::Document::parse(text).is_ok()).count()));
    }

    #[test]
    fn inputs_differ_and_have_a_most_length() {
        let all = inputs(Grammar::Json, JSON, 1);
        assert!(all.iter().collect::<BTreeSet<_>>().len() > 1_500);
        assert!(all.iter().all(|input| input.len() <= MOST_BYTES));
    }
}
