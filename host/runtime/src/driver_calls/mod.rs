//! What this process knows of calls to drivers: their history, limits, capacity, who leads.

pub(crate) mod call_rooms;
pub(crate) mod capacity;
pub(crate) mod class_secrets;
pub(crate) mod cloud_account;
pub(crate) mod creates;
pub(crate) mod deletion_requests;
pub mod history;
pub mod insight;
pub(crate) mod led;
pub(crate) mod recorded;
pub(crate) mod unstarted;
