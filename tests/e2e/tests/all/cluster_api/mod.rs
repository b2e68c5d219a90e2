//! The infrastructure provider of Cluster API on a real API server. The tests play Cluster API's core.

mod core;
mod life;
