//! The operator's input: `providerSpec` of a class, zones, volumes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `spec` | the fields of a class: MCM's providerSpec for Azure |
//! | `storage` | the images and disks of a class |
//! | `azure_cloud` | the clouds of Microsoft, of which a class names one |
//! | `lenient` | reads JSON as leniently as Go's `encoding/json`, and collects all problems |
//! | `zone` | the availability zones of a class: the failure domains of its VMs |
//! | `volume` | Azure's names of persistent volumes |

pub(crate) mod azure_cloud;
pub(crate) mod lenient;
pub(crate) mod spec;
pub(crate) mod storage;
pub(crate) mod volume;
pub(crate) mod zone;
