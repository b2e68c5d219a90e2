//! Kubernetes controllers for cloud machines, with sandboxed drivers.
fn main() {}
