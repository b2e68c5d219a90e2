//! Checks of the language of comments, documents and names.

pub mod columns;
pub mod private_words;
pub mod sentence_heads;
pub mod short_docs;
