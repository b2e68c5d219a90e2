//! New versions: at once, as a canary, as a shadow.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `canary` | new versions that answer a part of the calls before they serve |
//! | `shadows` | calls of a shadow are compared with those of the serving version |
//! | `swap` | generations change under running calls, and no call is lost |

pub(crate) mod canary;
pub(crate) mod shadows;
pub(crate) mod swap;
