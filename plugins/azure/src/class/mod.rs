//! The operator's input: `providerSpec` of a class, zones, volumes; and the resources of its Nodes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `spec` | the fields of a class: MCM's providerSpec for Azure |
//! | `storage` | the images and disks of a class |
//! | `lenient` | reads JSON as leniently as Go's `encoding/json`, and collects all problems |
//! | `zone` | the availability zones of a class: the failure domains of its VMs |
//! | `volume` | Azure's names of persistent volumes |
//! | `resources` | the resources of a Node of a class: those of its VM size |

pub(crate) mod lenient;
pub(crate) mod resources;
pub(crate) mod spec;
pub(crate) mod storage;
pub(crate) mod volume;
pub(crate) mod zone;
