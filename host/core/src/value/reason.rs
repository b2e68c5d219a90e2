//! Reasons of conditions and Events: one row of a table for each.

/// How a reason concerns the user, as Kubernetes Events have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Normal,
    /// Someone should look at it.
    Warning,
}

/// Declares reasons from rows of this form; the word is the name of the variant unless the row has another one:
///
/// ```text
/// /// Documentation.
/// Variant: Severity = "Word",
/// ```
macro_rules! reasons {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident: $severity:ident $(= $word:literal)?,)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)+ }

        impl $name {
            /// The word in conditions and Events.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $crate::value::reason::word!($variant $($word)?),)+ }
            }

            /// How the reason concerns the user.
            pub fn severity(self) -> $crate::value::reason::Severity {
                match self { $(Self::$variant => $crate::value::reason::Severity::$severity,)+ }
            }
        }
    };
}

/// The word of a row of [`reasons!`].
macro_rules! word {
    ($variant:ident) => {
        stringify!($variant)
    };
    ($variant:ident $word:literal) => {
        $word
    };
}

pub(crate) use {reasons, word};
