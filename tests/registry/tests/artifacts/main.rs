//! Artifacts and signatures against a real registry, and against one that lies.

mod lies;
mod roundtrip;
mod support;
