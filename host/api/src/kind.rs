//! Makes a struct a Kubernetes kind. A macro rather than kube's derive, since the derive insists on a `spec`, and a
//! class has none.

/// Implements [`kube_core::Resource`] and `Serialize` for a kind, by default a namespaced one of
/// machine-controller-manager's group; `of` names the module with another group. The struct's field names are those of
/// the JSON; a field is left out when it says so.
macro_rules! kind {
    ($kind:ident, plural: $($rest:tt)+) => {
        $crate::kind::kind!($kind, of: crate::names, plural: $($rest)+);
    };
    ($kind:ident, of: $($group:ident)::+, plural: $($rest:tt)+) => {
        $crate::kind::kind!($kind, of: $($group)::+, scope: NamespaceResourceScope, plural: $($rest)+);
    };
    ($kind:ident, of: $($group:ident)::+, scope: $scope:ident, plural: $($rest:tt)+) => {
        $crate::kind::kind!(
            $kind, of: $($group)::+, scope: $scope, named: stringify!($kind), plural: $($rest)+
        );
    };
    ($kind:ident, of: $($group:ident)::+, scope: $scope:ident, named: $name_of_kind:expr, plural: $plural:literal, fields: [
        $($name:literal => $field:ident $(if $present:expr)?),+ $(,)?
    ]) => {
        impl kube_core::Resource for $kind {
            type DynamicType = ();
            type Scope = kube_core::$scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                $name_of_kind.into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $($group)::+::GROUP.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $($group)::+::VERSION.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("apiVersion", $($group)::+::API_VERSION)?;
                map.serialize_entry("kind", $name_of_kind)?;
                $($crate::kind::entry!(map, self, $name, $field $(, $present)?);)+
                map.end()
            }
        }
    };
}

/// One field of [`kind!`].
macro_rules! entry {
    ($map:ident, $self:ident, $name:literal, $field:ident) => {
        $map.serialize_entry($name, &$self.$field)?;
    };
    ($map:ident, $self:ident, $name:literal, $field:ident, $present:expr) => {
        if $present(&$self.$field) {
            $map.serialize_entry($name, &$self.$field)?;
        }
    };
}

pub(crate) use entry;
pub(crate) use kind;
