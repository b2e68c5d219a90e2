//! From bytes to a plugin that serves.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `artifacts` | components in a real registry: pinned, signed, and never at the cost of what serves |
//! | `cache` | code is compiled once, in another process, and trusted only with its tag |
//! | `directory` | plugins in a directory: declared, swapped and removed like those in ConfigMaps |
//! | `parts` | a component in parts: whole or not at all, in any order |
//! | `rejection` | bad content is rejected by name, and never replaces what serves |
//! | `tiers` | a large component serves soon with its first code, and optimised code replaces that |

pub(crate) mod artifacts;
pub(crate) mod cache;
pub(crate) mod directory;
pub(crate) mod parts;
pub(crate) mod rejection;
pub(crate) mod tiers;
