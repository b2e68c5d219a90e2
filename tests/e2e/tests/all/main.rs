//! The host on a real control plane, end to end. Each test has a lab of its own.

mod admin;
mod aws;
mod cluster_api;
mod commands;
mod deployments;
mod drain;
mod lives;
mod places;
mod plugins;
mod safety;
mod scene;
