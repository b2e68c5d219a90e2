//! Decisions about a deployment as behaviour.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `rolling`, `in_place`, `revisions` | rollouts by strategy, rollbacks, history |
//! | `disruptions` | failed and old Machines within windows and a budget |
//! | `claims` | adoption of sets, and the end of a deployment |
//! | `autoscaler` | the autoscaler's list of Machines |
//! | `words` | conditions, deadlines and texts |
//! | `exhaustive` | combinations of numbers, phases, strategies and failures |
//! | `model`, `model_disruptions` | whole rollouts in a random order, with stale caches and failing writes |
//! | `cluster`, `act`, `dice`, `facts`, `report` | the world of the models, and passes as text |

mod act;
mod autoscaler;
mod claims;
mod cluster;
mod dice;
mod disruptions;
mod exhaustive;
mod facts;
mod in_place;
mod model;
mod model_disruptions;
mod report;
mod revisions;
mod rolling;
mod words;
