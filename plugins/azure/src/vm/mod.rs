//! The life of a VM: its parts, creation, marks, adoption, deletion.
//!
//! | module | what it does |
//! | --- | --- |
//! | `machine` | finds the VM of a machine, and lists the VMs of a cluster |
//! | `create` | from a request to exactly one VM |
//! | `parts` | the parts that exist before their VM: network interface, disks with images; marketplace agreements |
//! | `body` | the JSON of VMs and their parts |
//! | `delete` | the removal of VMs with all their parts |
//! | `remains` | the removal of what is left without a VM |
//! | `initialize` | the marks of adopted VMs |
//! | `marks` | ownership of resources by Machines and clusters, by their tags |
//! | `adoption` | the operator's choice of another program's VMs that a cluster adopts |
//! | `resources` | the resources of a Node of a class: those of its VM size |
//! | `map` | from Azure's objects to the contract's types |

pub(crate) mod adoption;
pub(crate) mod body;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod initialize;
pub(crate) mod machine;
pub(crate) mod map;
pub(crate) mod marks;
pub(crate) mod parts;
pub(crate) mod remains;
pub(crate) mod resources;
