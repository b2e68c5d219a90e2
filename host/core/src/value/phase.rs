//! The phases and operations of a Machine. Names are those of the API.

use std::fmt;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word in the API.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Returns `None` for an unknown word.
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
        /// Nothing was done yet, or its creation continues.
        New = "",
        /// The VM is created, its Node has not joined.
        Pending = "Pending",
        /// The VM is created, and there is no target cluster to join.
        Available = "Available",
        /// The Node is healthy.
        Running = "Running",
        Terminating = "Terminating",
        /// It was running, and is unhealthy.
        Unknown = "Unknown",
        Failed = "Failed",
        /// Creation failed and is retried.
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
    /// The last operation on a Machine.
    OperationType {
        /// Creation, up to the Node's joining.
        Create = "Create",
        Update = "Update",
        /// An update in place.
        InPlaceUpdate = "InPlaceUpdate",
        /// A drain apart from deletion.
        DrainNode = "DrainNode",
        /// A change of health.
        HealthCheck = "HealthCheck",
        Delete = "Delete",
    }
}

words! {
    OperationState {
        Processing = "Processing",
        /// Failed; tried again where that helps.
        Failed = "Failed",
        Successful = "Successful",
    }
}
