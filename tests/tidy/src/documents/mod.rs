//! Checks of the documents: links, paths, decisions, and pages that have to agree with code.

pub mod attacks;
pub mod decisions;
pub mod links;
pub mod pages;
pub mod paths;
