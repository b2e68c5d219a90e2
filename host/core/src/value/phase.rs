//! The phases and operations of a Machine. Names are those of the API.

use std::fmt;

use super::words::words;

macro_rules! read_and_written {
    ($($name:ident),+) => {$(
        impl $name {
            /// Returns `None` for an unknown word.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )+};
}

read_and_written!(Phase, OperationType, OperationState);

words! {
    /// Where a Machine is in its life.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Phase with as_str {
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
        InPlaceUpdating = "InPlaceUpdating",
        InPlaceUpdateSuccessful = "InPlaceUpdateSuccessful",
        /// Could not be updated in place.
        InPlaceUpdateFailed = "InPlaceUpdateFailed",
    }
}

words! {
    /// The last operation on a Machine.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum OperationType with as_str {
        /// Creation, up to the Node's joining.
        Create = "Create",
        Update = "Update",
        InPlaceUpdate = "InPlaceUpdate",
        /// A drain apart from deletion.
        DrainNode = "DrainNode",
        /// A change of health.
        HealthCheck = "HealthCheck",
        Delete = "Delete",
    }
}

words! {
    /// How far the last operation is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum OperationState with as_str {
        Processing = "Processing",
        /// Failed; tried again where that helps.
        Failed = "Failed",
        Successful = "Successful",
    }
}
