//! The driver of EC2, against moto behind a proxy that adds what moto lacks.

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
fn the_driver_is_smaller_than_four_hundred_kibibytes() {
    let bytes = scene::AWS.len();
    assert!(bytes < 400 * 1024, "{bytes} bytes");
}
