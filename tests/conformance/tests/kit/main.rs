//! The kit on real components: the drivers of this repository pass, and each broken driver fails its check and no
//! other.

mod aws;
mod faulty;
mod harness;
mod languages;
mod projects;
mod sim;
