//! Checks of the documents: links, decisions, and pages that have to agree with code.

pub mod attacks;
pub mod decisions;
pub mod links;
pub mod pages;
