//! When Machines may be taken away: requests, budgets, maintenance windows, ages.

pub mod budget;
pub mod maintenance;
pub mod node_age;
pub mod requests;
