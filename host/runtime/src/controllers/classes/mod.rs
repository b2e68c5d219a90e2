//! Reconciles of MachineClasses and their Secrets.
//!
//! | module | what it does |
//! | --- | --- |
//! | `class_check` | asks drivers whether classes are valid, and reports it |
//! | `class_secrets` | the Secrets that a class may use |
//! | `finalizers` | keeps a finalizer on classes and Secrets that are in use |

pub(crate) mod class_check;
pub(crate) mod class_secrets;
pub(crate) mod finalizers;
