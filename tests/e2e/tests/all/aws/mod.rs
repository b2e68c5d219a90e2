//! The driver of EC2, against moto behind a proxy that adds what moto lacks.

mod clusters;
mod crash;
mod identity;
mod input;
mod life;
mod memory;
mod orphans;
mod scene;
mod trouble;
