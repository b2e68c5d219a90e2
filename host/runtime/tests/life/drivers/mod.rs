//! Plugins, their versions, and their checks of classes.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `plugins` | the state of a plugin is reported on its ConfigMap |
//! | `pins` | a class that pins a version of its driver |
//! | `class_check` | classes that their drivers reject |

pub(crate) mod class_check;
pub(crate) mod pins;
pub(crate) mod plugins;
