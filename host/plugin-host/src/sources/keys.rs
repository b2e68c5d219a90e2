//! The names in a plugin's ConfigMap that others read and write.

/// The labels, annotations and keys of a plugin's ConfigMap.
pub enum PluginKeys {}

impl PluginKeys {
    /// Marks a ConfigMap as a plugin; its value is the kind.
    pub const KIND_LABEL: &str = "machinist.dev/plugin";
    /// The value of [`KIND_LABEL`] on a driver.
    pub const DRIVER_KIND: &str = "driver";
    /// The value of [`KIND_LABEL`] on a health policy.
    pub const POLICY_KIND: &str = "health-policy";
    /// The value of the label `machinist.dev/plugin` on a part.
    pub const PART_KIND: &str = "part";
    pub const NAME_LABEL: &str = "machinist.dev/plugin-name";
    /// On a part of `machinist plugin push`: the index that the part belongs to.
    pub const INDEX_LABEL: &str = "machinist.dev/plugin-index";
    /// The annotation with the place of a source among the versions of its plugin, a version such as `1.4.0`.
    /// `machinist plugin push` writes what the component calls itself.
    pub const VERSION_ANNOTATION: &str = "machinist.dev/plugin-version";
    /// The name of the annotation.
    pub const STATUS_ANNOTATION: &str = "machinist.dev/status";
    /// The annotation by which a person ends a trial: `promote=sha256:…` or `withdraw=sha256:…`.
    pub const ROLLOUT_ANNOTATION: &str = "machinist.dev/rollout";
    /// The annotation that asks for another resolution of a tag whenever its value changes.
    pub const RESOLVE_ANNOTATION: &str = "machinist.dev/resolve";
    /// The key of `data` with the digest of the component.
    pub const SHA256: &str = "sha256";
    /// The key of `data` with a signature over the component.
    pub const SIGNATURE: &str = "signature";
    pub const BUNDLE: &str = "bundle.json";
    /// The key of `data` with the signature of the bundle.
    pub const BUNDLE_SIGNATURE: &str = "bundle.sig";
    /// The key of `data` with the driver's settings.
    pub const SETTINGS: &str = "settings.json";
    /// The key of `data` with the grants.
    pub const GRANTS_YAML: &str = "grants.yaml";
    /// The same, where they are JSON.
    pub const GRANTS_JSON: &str = "grants.json";
    /// The key of `data` with how a version comes to serve.
    pub const ROLLOUT_YAML: &str = "rollout.yaml";
    /// The key of `data` with what its operator says about a policy.
    pub const TERMS_YAML: &str = "policy.yaml";
    /// The same, where it is JSON.
    pub const TERMS_JSON: &str = "policy.json";
    /// The key of `data` that makes a ConfigMap an index.
    pub const INDEX_KEY: &str = "parts.json";
    /// The key of `data` under which a part says its place.
    pub const PLACE_KEY: &str = "part";
    /// The key of `binaryData` under which a part holds its bytes. A ConfigMap has no key twice, in either of the two.
    pub const BYTES_KEY: &str = "plugin.wasm.part";
    /// The key of `data` with the reference.
    pub const OCI_KEY: &str = "oci";
    /// The key of `data` with the name of the Secret for the registry.
    pub const PULL_SECRET_KEY: &str = "oci-pull-secret";
}
