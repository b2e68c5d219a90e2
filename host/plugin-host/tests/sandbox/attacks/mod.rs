//! Attacks by a driver, by its cloud, and by both. Each is contained, leaves a notice or a count, shows no secret, and
//! an honest driver answers afterwards.

mod accounts;
mod addresses;
mod bundles;
mod claims;
mod declarations;
mod floods;
mod neighbours;
mod requests;
mod scene;
mod secrets;
mod servers;
mod tables;
