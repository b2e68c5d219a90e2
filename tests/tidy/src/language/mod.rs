//! Checks of the language of comments, documents and names.
//!
//! | module | what it finds |
//! | --- | --- |
//! | `columns` | long lines of prose |
//! | `private_words` | words of our own, where the field has one |
//! | `sentence_heads` | sentences that begin with a clause in place of the thing that acts |
//! | `short_docs` | documentation that only repeats a name |

pub mod columns;
pub mod private_words;
pub mod sentence_heads;
pub mod short_docs;
