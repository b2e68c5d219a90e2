//! Checks of files, folders, modules and type names.
//!
//! | module | what it checks |
//! | --- | --- |
//! | `circles` | circles among the top modules of a crate |
//! | `contents` | the head of a file names the modules that the file declares |
//! | `siblings` | the number of files and folders in a folder |
//! | `sizes` | the lengths of files |
//! | `type_names` | types of a crate have different names |

pub mod circles;
pub mod contents;
pub mod siblings;
pub mod sizes;
pub mod type_names;
