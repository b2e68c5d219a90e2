//! The driver of EC2, against moto behind a proxy that adds what moto lacks.
//!
//! | module | content |
//! | --- | --- |
//! | `life` | Machines become instances and Nodes, and leave nothing behind |
//! | `identity` | credentials that STS gives for a token in a file of the host's container |
//! | `clusters` | two clusters in one account, and instances of nobody |
//! | `orphans` | the listing of orphans: complete, without doubles, of this cluster alone |
//! | `takeover` | a machine-controller-manager installation, taken over with adoption and without |
//! | `reboot` | an instance is rebooted, and stays the same |
//! | `failures` | EC2 that loses answers, throttles, has no capacity, and shows changes late |
//! | `input` | mistakes of users and clouds: the right code, and a message that says how to fix it |
//! | `crash` | a host that is killed in the middle of a create, while EC2 loses answers |
//! | `memory` | no secret is in the driver's memory, whichever call it was and however it ended |
//! | `scene` | a lab with EC2 and a host for each test |

mod clusters;
mod crash;
mod failures;
mod identity;
mod input;
mod life;
mod memory;
mod orphans;
mod reboot;
mod scene;
mod takeover;

/// So that it fits into a ConfigMap twice, even unpacked.
#[test]
fn the_driver_is_smaller_than_450_kibibytes() {
    let bytes = scene::AWS.len();
    assert!(bytes < 450 * 1024, "{bytes} bytes");
}
