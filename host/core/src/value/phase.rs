//! The words in which a Machine's state is told. Names are those of the API.

use std::fmt;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word in the API.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// None for a word that is not ours.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// Where a Machine is in its life.
    Phase {
        /// Nothing was done yet, or its creation goes on.
        New = "",
        /// The VM is made, its Node has not joined.
        Pending = "Pending",
        /// The VM is made, and there is no target cluster to join.
        Available = "Available",
        /// The Node is healthy.
        Running = "Running",
        /// Being deleted.
        Terminating = "Terminating",
        /// Was running, is not healthy.
        Unknown = "Unknown",
        /// Will be replaced.
        Failed = "Failed",
        /// Creation fails and is tried again.
        CrashLoopBackOff = "CrashLoopBackOff",
        /// Being updated in place.
        InPlaceUpdating = "InPlaceUpdating",
        /// Was updated in place.
        InPlaceUpdateSuccessful = "InPlaceUpdateSuccessful",
        /// Could not be updated in place.
        InPlaceUpdateFailed = "InPlaceUpdateFailed",
    }
}

words! {
    /// What was done last with a Machine.
    OperationType {
        /// Creation, up to the Node's joining.
        Create = "Create",
        /// A change.
        Update = "Update",
        /// An update in place.
        InPlaceUpdate = "InPlaceUpdate",
        /// A drain apart from deletion.
        DrainNode = "DrainNode",
        /// A change of health.
        HealthCheck = "HealthCheck",
        /// Deletion.
        Delete = "Delete",
    }
}

words! {
    /// How that went.
    OperationState {
        /// Goes on.
        Processing = "Processing",
        /// Failed; tried again where that helps.
        Failed = "Failed",
        /// Done.
        Successful = "Successful",
    }
}
