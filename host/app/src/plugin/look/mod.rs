//! What is known of plugins.

pub(crate) mod diff;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod view;
