//! What is decided about a deployment, told as behaviour.

mod act;
mod autoscaler;
mod claims;
mod dice;
mod disruptions;
mod exhaustive;
mod facts;
mod in_place;
mod model;
mod model_disruptions;
mod revisions;
mod rolling;
mod tell;
mod words;
mod world;
