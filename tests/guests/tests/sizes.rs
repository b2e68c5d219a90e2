//! Drivers in Rust stay small: each call gets a fresh instance, and the larger a component is, the longer that takes.

const MOST_BYTES: usize = 450 * 1024;

#[test]
fn drivers_in_rust_stay_small() {
    for package in ["sim-driver", "aws-driver"] {
        let bytes = guests::bytes(package).unwrap().len();
        assert!(bytes <= MOST_BYTES, "{package} is {bytes} bytes, at most {MOST_BYTES}");
    }
}
