//! The macro behind the table of effects: one row becomes a variant of each enum, a slot of the progress, and an arm of
//! each function.

/// Declares [`MachineEffect`](super::MachineEffect), its outcomes and the progress from rows of this form:
///
/// ```text
/// /// Documentation.
/// Variant { field: Type } => slot: Result, "name", Kind, [Trait, …];
/// ```
///
/// `slot` is the field of the progress that keeps the outcome, `Result` the outcome's type, `"name"` is for logs and
/// metrics, `Kind` is the kind for the gate unless [`MachineEffect::kind`](super::MachineEffect::kind) says otherwise.
///
/// Steps of a drain are not in the table: `drain` has many outcomes in one reconcile and a progress of its own.
macro_rules! machine_effects {
    ($(
        $(#[$doc:meta])*
        $variant:ident $(( $payload:ty ))? $({ $($(#[$field_doc:meta])* $field:ident: $type:ty),+ $(,)? })?
            => $slot:ident: $result:ty, $name:literal, $kind:ident, [$($trait:ident),*];
    )+) => {
        /// One effect on the Machine of the view.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum MachineEffect {
            $($(#[$doc])* $variant $(($payload))? $({ $($(#[$field_doc])* $field: $type),+ })?,)+
            /// A step of the Node's drain.
            Drain(DrainEffect),
        }

        /// The outcome of the effect of the same name.
        #[derive(Clone, Debug)]
        pub enum MachineOutcome {
            $($variant($result),)+
            Drain(DrainOutcome),
        }

        /// The outcomes of this reconcile's effects. It lives for one reconcile only, so that a crash equals a new
        /// reconcile.
        #[derive(Clone, Debug, Default)]
        pub struct MachineProgress {
            $(pub $slot: Option<$result>,)+
            pub drain: DrainProgress,
        }

        impl MachineEffect {
            /// Returns the name for logs and metrics: a closed set.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $name,)+
                    Self::Drain(effect) => effect.name(),
                }
            }

            fn usual_kind(&self) -> EffectKind {
                match self {
                    $(Self::$variant { .. } => EffectKind::$kind,)+
                    Self::Drain(_) => EffectKind::Drain,
                }
            }

            fn traits(&self) -> &'static [EffectTrait] {
                match self {
                    $(Self::$variant { .. } => &[$(EffectTrait::$trait),*],)+
                    Self::Drain(DrainEffect::ListPods { read: ReadConsistency::Latest, .. }) => &[],
                    Self::Drain(DrainEffect::ListPods { .. }) => &[EffectTrait::BeforeStatus],
                    Self::Drain(
                        DrainEffect::Evict(_) | DrainEffect::DeletePod(_) | DrainEffect::DeleteAttachment { .. },
                    ) => &[EffectTrait::BeforeStatus, EffectTrait::HarmsOthers, EffectTrait::EmptiesNode],
                }
            }

            /// Returns its outcome if it must not be carried out.
            pub fn refused(&self, reason: &'static str) -> MachineOutcome {
                match self {
                    $(Self::$variant { .. } => MachineOutcome::$variant(Refusable::refused(reason)),)+
                    Self::Drain(effect) => MachineOutcome::Drain(effect.failed(ActError::Forbidden { reason })),
                }
            }
        }

        #[cfg(test)]
        impl MachineOutcome {
            /// Returns the name of the effect that it is of.
            pub(crate) fn effect_name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                    Self::Drain(DrainOutcome::Pods(_)) => "look-at-pods",
                    Self::Drain(DrainOutcome::Evict { .. }) => "evict",
                    Self::Drain(DrainOutcome::DeletePod { .. }) => "delete-pod",
                    Self::Drain(DrainOutcome::DeleteAttachment { .. }) => "delete-attachment",
                }
            }
        }

        impl MachineProgress {
            pub fn record(&mut self, outcome: MachineOutcome) {
                match outcome {
                    $(MachineOutcome::$variant(result) => self.$slot = Some(result),)+
                    MachineOutcome::Drain(outcome) => self.drain.record(outcome),
                }
            }

            /// Returns whether this reconcile has carried out the effect, so that it must not be repeated.
            pub(crate) fn has(&self, effect: &MachineEffect) -> bool {
                match effect {
                    $(MachineEffect::$variant { .. } => self.$slot.is_some(),)+
                    MachineEffect::Drain(effect) => self.drain.has(effect),
                }
            }
        }
    };
}
