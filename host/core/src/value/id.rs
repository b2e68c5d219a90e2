//! Names of things. A newtype each, so that no two of them can be swapped.

use std::fmt;
use std::sync::Arc;

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text as it is.
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// True when the text is empty.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }
    };
}

name_type!(
    /// A namespace of the control cluster.
    Namespace
);
name_type!(
    /// The name of an object in its namespace.
    Name
);
name_type!(
    /// `metadata.uid`: unique for all time.
    Uid
);
name_type!(
    /// The cloud's id of a machine, as its driver wrote it. Opaque.
    ProviderId
);
name_type!(
    /// The name of a Node in the target cluster.
    NodeName
);
name_type!(
    /// The name of a MachineClass.
    ClassName
);
name_type!(
    /// The name of a plugin; its versions share it.
    PluginName
);
name_type!(
    /// The value of a MachineClass's `provider`, in lower case.
    ProviderName
);
name_type!(
    /// A place whose machines fail together, such as a zone.
    FailureDomain
);

impl ProviderName {
    /// Provider names match without regard to case.
    pub fn folded(text: &str) -> Self {
        Self::new(text.trim().to_lowercase())
    }
}

/// A control plane that this process serves: where its objects live and which cluster their nodes join.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant {
    /// Namespace of the control cluster.
    pub namespace: Namespace,
    /// Names the target cluster; `default` when there is one.
    pub cluster: Name,
}

/// An object of one tenant, by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Where it lives; empty for objects without a namespace.
    pub namespace: Namespace,
    pub name: Name,
}

impl ObjectKey {
    /// The key of `namespace/name`.
    pub fn new(namespace: impl AsRef<str>, name: impl AsRef<str>) -> Self {
        Self { namespace: Namespace::new(namespace), name: Name::new(name) }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}", self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}
