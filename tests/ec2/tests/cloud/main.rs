//! What the proxy adds to moto, one semantic a test.

mod bad_input;
mod faults;
mod lag;
mod others;
mod reads;
mod signatures;
mod speed;
mod sts;
mod support;
mod tokens;
