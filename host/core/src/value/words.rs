//! Enums whose variants are words that others read: one row holds a variant and its word.

/// How a reason concerns the user, as Kubernetes Events have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Normal,
    /// Someone should look at it.
    Warning,
}

/// Declares an enum, the list of its variants, and the method that returns the word of each:
///
/// ```text
/// /// Documentation.
/// #[derive(Clone, Copy)]
/// pub enum Type with method { Variant = "word", … }
/// ```
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident with $word:ident { $($(#[$variant_meta:meta])* $variant:ident = $text:literal,)+ }
    ) => {
        $(#[$meta])*
        pub enum $name { $($(#[$variant_meta])* $variant,)+ }

        impl $name {
            /// All of them, in order.
            pub const ALL: [Self; [$($text,)+].len()] = [$(Self::$variant,)+];

            /// Returns the word that APIs, metrics and people read: one of a closed set, stable once released.
            pub fn $word(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

/// Declares an enum of reasons, each with the word in conditions and Events and the severity for the user:
///
/// ```text
/// /// Documentation.
/// #[derive(Clone, Copy)]
/// pub enum Type { Variant = Normal "word", … }
/// ```
///
/// With `and Other(OtherReasons)` at its end, the enum has the reasons of another one as well.
macro_rules! reasons {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $severity:ident $text:literal,)+
        }
    ) => {
        $crate::value::words::words! {
            $(#[$meta])*
            pub enum $name with as_str { $($(#[$variant_meta])* $variant = $text,)+ }
        }

        impl $name {
            /// Returns the severity for the user.
            pub fn severity(self) -> $crate::value::words::Severity {
                match self { $(Self::$variant => $crate::value::words::Severity::$severity,)+ }
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $severity:ident $text:literal,)+
        }
        and $(#[$other_meta:meta])* $other:ident($inner:ty)
    ) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$variant_meta])* $variant,)+
            $(#[$other_meta])*
            $other($inner),
        }

        impl $name {
            /// Returns all of them: its own, and then those of the other enum.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$variant,)+].into_iter().chain(<$inner>::ALL.map(Self::$other))
            }

            /// Returns the word that APIs, metrics and people read: one of a closed set, stable once released.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ Self::$other(reason) => reason.as_str() }
            }

            /// Returns the severity for the user.
            pub fn severity(self) -> $crate::value::words::Severity {
                match self {
                    $(Self::$variant => $crate::value::words::Severity::$severity,)+
                    Self::$other(reason) => reason.severity(),
                }
            }
        }
    };
}

pub(crate) use {reasons, words};
