//! MachineDeployments as node groups of cluster-autoscaler: which there are, and what each of its calls writes.
//!
//! The rules are those of the autoscaler's contract, and the same for the MachineDeployments of both APIs. A caller
//! that repeats a deletion because it lost the answer must not shrink a group twice: the names of the Machines that
//! were counted are stored with the size, in one write.
//!
//! | module | decides |
//! | --- | --- |
//! | [`group`] | what a node group is, its id and its limits |
//! | [`member`] | the Machines of a group as instances, and the Machine of a Node |
//! | [`creation_error`] | which failures of a creation are reported |
//! | [`resize`] | what calls that change a size write |
//! | [`refusal`] | why a call is refused |
//! | [`template`] | the next Node of a group |
//! | [`options`] | settings of the autoscaler for one group |

pub mod creation_error;
pub mod group;
pub mod member;
pub mod options;
pub mod refusal;
pub mod resize;
pub mod template;
