//! The next step of a reconcile.

/// The next step of a reconcile whose effects are `E` and whose end is `C`.
#[derive(Clone, Debug)]
pub enum Step<E, C> {
    /// Carry out these effects in parallel, then ask again.
    Act(Vec<E>),
    /// The reconcile is over.
    Finish(C),
}

impl<E, C> Step<E, C> {
    /// A batch of one.
    pub fn act(effect: E) -> Self {
        Self::Act(vec![effect])
    }
}
