//! The functions that the proxy adds to moto, one a test.

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
