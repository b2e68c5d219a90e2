//! HTTP/1.1 servers and proxies for tests.
//!
//! [`serve`] gives each request to a function, whose answer is whole, broken off, endless, or missing: [`Answer`] and
//! [`AnswerBody`] have these forms. [`Upstream`] forwards requests to a real server. [`ServerThread`] runs a server
//! beside a test that blocks, or that pauses tokio's time. Each crate has its own rules for which request gets which
//! fault.
//!
//! | module | what it does |
//! | --- | --- |
//! | `serve` | a server that gives each request to a function |
//! | `body` | bodies of answers: whole, broken off, or without end |
//! | `upstream` | the real server behind a proxy |
//! | `thread` | servers on threads of their own |

mod body;
mod serve;
mod thread;
mod upstream;

pub use body::{Answer, AnswerBody, Broken};
pub use serve::serve;
pub use thread::{ServerThread, StartError};
pub use upstream::{Received, Upstream};
