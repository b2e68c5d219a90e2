//! Artifacts and signatures against a real registry, and against one that lies.
//!
//! | module | content |
//! | --- | --- |
//! | `roundtrip` | pushed artifacts and signatures are pulled again, with and without a login |
//! | `lies` | other bytes, redirects, and registries that are down, slow or endless |
//! | `support` | a registry, a proxy that lies in front of it, and a client |

mod lies;
mod roundtrip;
mod support;
