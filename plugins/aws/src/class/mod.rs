//! The operator's input: `providerSpec` of a class, placement, zones, volumes; and the resources of its Nodes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `spec` | the fields of a class: MCM's providerSpec for AWS |
//! | `lenient` | reads JSON as leniently as Go's `encoding/json`, and collects all problems |
//! | `placement` | the placement of an instance: by the class, else by the Machine's node template |
//! | `zone` | the availability zone of a class: the failure domain of its instances |
//! | `volume` | EC2's ids of persistent volumes |
//! | `resources` | the resources of a Node of a class: those of its instance type |

pub(crate) mod lenient;
pub(crate) mod placement;
pub(crate) mod resources;
pub(crate) mod spec;
pub(crate) mod volume;
pub(crate) mod zone;
