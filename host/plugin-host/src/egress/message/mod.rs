//! Requests and answers, and the changes to both.
//!
//! | module | what it does |
//! | --- | --- |
//! | `outgoing` | a request: checked, collected, without headers of the connection |
//! | `substitute` | puts secrets into granted places |
//! | `json` | finds the strings of a JSON text |
//! | `response` | limits and scrubs an answer |
//! | `synthetic` | answers that the host gives itself |

pub(crate) mod json;
pub(crate) mod outgoing;
pub(crate) mod response;
pub(crate) mod substitute;
pub(crate) mod synthetic;
