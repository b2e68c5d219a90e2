//! The labels, annotations and keys of a plugin's ConfigMap.

pub use crate::registry::canary::decided::ROLLOUT_ANNOTATION;
pub use crate::registry::status::STATUS_ANNOTATION;
pub use crate::sources::age::VERSION_ANNOTATION;
pub use crate::sources::configmap::{
    BUNDLE, BUNDLE_SIGNATURE, DRIVER_KIND, GRANTS_JSON, GRANTS_YAML, KIND_LABEL, NAME_LABEL, POLICY_KIND,
    ROLLOUT_YAML, SETTINGS, SHA256, SIGNATURE, TERMS_JSON, TERMS_YAML,
};
pub use crate::sources::parts::{BYTES_KEY, INDEX_KEY, INDEX_LABEL, PART_KIND, PLACE_KEY};
pub use crate::sources::remote::{OCI_KEY, PULL_SECRET_KEY, RESOLVE_ANNOTATION};
