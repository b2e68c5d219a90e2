//! MachineSets: facts from caches, effects on Machines and the set, one status write a pass.

mod act;
mod body;
mod child;
mod listing;
mod news;
mod observe;
mod pass;
mod publish;

pub(crate) use pass::run;
