//! Checks of the documents: links, paths, decisions, and pages that have to agree with code.
//!
//! | module | what it checks |
//! | --- | --- |
//! | `links` | links between documents and files of the tree |
//! | `paths` | paths of this repository that pages name in backticks |
//! | `pages` | the pages about the functions of the contracts |
//! | `decisions` | decision records: one page each, numbered without a gap |
//! | `attacks` | the threat model names the attacks among the tests |

pub mod attacks;
pub mod decisions;
pub mod links;
pub mod pages;
pub mod paths;
