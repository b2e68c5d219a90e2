//! A component as `machinist plugin inspect` shows it.

use std::fmt::Write as _;

use machinist_plugin_host::component::Contract;
use machinist_plugin_host::{
    AddressClass, Declared, EgressRule, GrantedPlace, Grants, Inspected, Limits, PathPattern, PolicyAbout,
    PolicyLimits, PolicyTerms, RequestPlace, SecretGrant, shown,
};
use serde::Serialize;
use serde_json::Value;

use crate::plugin::file::inspect_in_sandbox;
use crate::plugin::ship::signature::SignatureView;

/// A component, for people as text and for programs as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    encoding: String,
    packed_bytes: usize,
    size_bytes: Option<usize>,
    digest: Option<String>,
    contract: Option<String>,
    exports: Vec<String>,
    granted_imports: Vec<String>,
    inert_imports: Vec<String>,
    unknown_imports: Vec<String>,
    driver: Option<Driver>,
    policy: Option<Policy>,
    #[serde(skip)]
    is_policy: bool,
    #[serde(skip)]
    is_component: bool,
    pub(crate) signature: Option<SignatureView>,
    grants: Granted,
    limits: Vec<Limit>,
    warnings: Vec<String>,
    refusal: Option<String>,
}

#[derive(Debug, Serialize)]
struct Driver {
    name: String,
    version: String,
    providers: Vec<String>,
    capabilities: Vec<&'static str>,
    consistency_window_seconds: f64,
    wished_hosts: Vec<String>,
    class_schema: Option<Value>,
}

#[derive(Debug, Serialize)]
struct Policy {
    name: String,
    version: String,
    mode: &'static str,
    applies_to: String,
    settings_schema: Option<Value>,
}

#[derive(Debug, Serialize)]
struct Granted {
    egress: Vec<String>,
    auth: Vec<String>,
    secrets: Vec<String>,
    shadow_reads: Vec<String>,
    reveal: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Limit {
    name: &'static str,
    value: u64,
    granted: bool,
}

impl View {
    /// Inspects a component in a sandbox of its own.
    pub(crate) async fn inspect(declared: Declared) -> anyhow::Result<(Self, Inspected)> {
        let (grants, terms) = (declared.grants.clone(), declared.kind.terms().cloned());
        let warnings = declared.warnings.clone();
        let inspected = inspect_in_sandbox(declared).await?;
        Ok((Self::of(&inspected, &grants, terms.as_ref(), warnings), inspected))
    }

    fn of(
        inspected: &Inspected,
        grants: &Grants,
        terms: Option<&PolicyTerms>,
        warnings: Vec<String>,
    ) -> Self {
        let contract = if terms.is_some() { Contract::HealthPolicy } else { Contract::Driver };
        let outside = inspected.outside.clone();
        let exports = outside.as_ref().map(|outside| outside.exports.clone()).unwrap_or_default();
        Self {
            encoding: inspected.encoding.to_string(),
            packed_bytes: inspected.packed_bytes,
            size_bytes: inspected.size_bytes,
            digest: inspected.digest.map(|digest| digest.to_string()),
            contract: exports.iter().find(|name| name.starts_with(contract.export())).cloned(),
            exports,
            granted_imports: outside.as_ref().map(|outside| outside.granted.clone()).unwrap_or_default(),
            inert_imports: outside.as_ref().map(|outside| outside.inert.clone()).unwrap_or_default(),
            unknown_imports: outside.map(|outside| outside.unknown).unwrap_or_default(),
            driver: inspected.about.as_ref().map(driver),
            policy: inspected.policy.as_ref().zip(terms).map(|(about, terms)| policy(about, terms)),
            is_policy: terms.is_some(),
            is_component: inspected.outside.is_some(),
            signature: None,
            grants: granted(grants),
            limits: match &inspected.policy_limits {
                Some(limits) => shown_policy_limits(limits),
                None => {
                    inspected.limits.as_ref().map(|limits| shown_limits(limits, grants)).unwrap_or_default()
                }
            },
            warnings,
            refusal: inspected.refusal.clone(),
        }
    }

    /// Prints a line for each fact and a block for each list. Unknown facts have a line too.
    pub(crate) fn to_text(&self) -> String {
        let mut text = Text(String::new());
        let unknown = || "unknown".to_owned();
        let size = self.size_bytes.map_or_else(unknown, |bytes| format!("{bytes} bytes"));
        text.line("Size", &size);
        text.line("Packed", &format!("{} bytes, {}", self.packed_bytes, self.encoding));
        text.line("Digest", &self.digest.clone().unwrap_or_else(unknown));
        for (name, value) in self.signature.iter().flat_map(SignatureView::lines) {
            text.line(name, &value);
        }
        if !self.is_component {
            // The reason is printed beside it; grants and limits of something else would hide it.
            return text.0;
        }
        text.line("World", &self.contract.clone().unwrap_or_else(unknown));
        if let Some(driver) = &self.driver {
            text.line("Driver", &format!("{} {}", driver.name, driver.version));
            text.line("Providers", &driver.providers.join(", "));
            text.line("Capabilities", &or_none(&driver.capabilities.join(", ")));
            text.line("Consistency window", &format!("{} s", driver.consistency_window_seconds));
            text.list("Hosts that it wishes", &driver.wished_hosts);
        }
        if let Some(policy) = &self.policy {
            text.line("Policy", &format!("{} {}", policy.name, policy.version));
            text.line("Mode", policy.mode);
            text.line("Applies to", &policy.applies_to);
        }
        text.list("Granted imports", &self.granted_imports);
        text.list("Inert imports (linked, lead nowhere)", &self.inert_imports);
        if !self.unknown_imports.is_empty() {
            text.list("Imports that this host does not offer", &self.unknown_imports);
        }
        if self.contract.is_none() && !self.exports.is_empty() {
            text.list("Exports", &self.exports);
        }
        // A policy reaches nothing, be it refused or not.
        if !self.is_policy {
            text.list("Granted hosts", &self.grants.egress);
            text.list("Granted auth schemes", &self.grants.auth);
            text.list("Granted places of secrets", &self.grants.secrets);
        }
        if !self.grants.shadow_reads.is_empty() {
            text.list("Reads of a shadow", &self.grants.shadow_reads);
        }
        if !self.grants.reveal.is_empty() {
            text.list("Secrets that it may see", &self.grants.reveal);
        }
        let limit = |limit: &Limit| {
            let source = if limit.granted { "granted" } else { "default" };
            format!("{}: {} ({source})", limit.name, limit.value)
        };
        text.list("Limits of a call", &self.limits.iter().map(limit).collect::<Vec<_>>());
        let class_schema = self.driver.as_ref().and_then(|driver| driver.class_schema.as_ref());
        let settings_schema = self.policy.as_ref().and_then(|policy| policy.settings_schema.as_ref());
        for (name, schema) in [("Class schema", class_schema), ("Settings schema", settings_schema)] {
            let Some(schema) = schema else { continue };
            let schema = serde_json::to_string_pretty(schema).unwrap_or_default();
            text.list(name, &schema.lines().map(str::to_owned).collect::<Vec<_>>());
        }
        if !self.warnings.is_empty() {
            text.list("Warnings", &self.warnings);
        }
        text.0
    }
}

struct Text(String);

impl Text {
    fn line(&mut self, name: &str, value: &str) {
        // Writing into a text does not fail.
        let _ = writeln!(self.0, "{:<20} {}", format!("{name}:"), shown(value));
    }

    fn list(&mut self, name: &str, values: &[String]) {
        if values.is_empty() {
            return self.line(name, "none");
        }
        let _ = writeln!(self.0, "{name}:");
        for value in values {
            let _ = writeln!(self.0, "  {}", shown(value));
        }
    }
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

/// A schema. A text that is not JSON is shown as it is.
fn schema(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

fn driver(about: &machinist_plugin_host::About) -> Driver {
    let capabilities = about.capabilities;
    let offered = [
        ("get-status", capabilities.status),
        ("initialize", capabilities.initialize),
        ("list", capabilities.listing),
        ("get-volume-ids", capabilities.volume_ids),
        ("idempotency-key", capabilities.idempotency_key),
        ("reboot", capabilities.reboot),
        ("delete-by-id", capabilities.delete_by_id),
        ("node-id", capabilities.node_id),
        ("placement", capabilities.placement),
        ("interruption", capabilities.interruption),
        ("capacity", capabilities.capacity),
    ];
    Driver {
        name: about.name.clone(),
        version: about.version.to_string(),
        providers: about.providers.iter().map(ToString::to_string).collect(),
        capabilities: offered
            .into_iter()
            .filter(|(_, is_offered)| *is_offered)
            .map(|(name, _)| name)
            .collect(),
        consistency_window_seconds: about.consistency_window.as_secs_f64(),
        wished_hosts: about.hosts.clone(),
        class_schema: about.class_schema.as_deref().map(schema),
    }
}

fn policy(about: &PolicyAbout, terms: &PolicyTerms) -> Policy {
    let scope = &terms.scope;
    let names =
        |what: &str, names: Vec<String>| (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")));
    let parts = [
        names("classes", scope.classes.iter().cloned().collect()),
        names("deployments", scope.deployments.iter().cloned().collect()),
        names("labels", scope.labels.iter().map(|(key, value)| format!("{key}={value}")).collect()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Policy {
        name: about.name.clone(),
        version: about.version.to_string(),
        mode: terms.mode.as_str(),
        applies_to: if parts.is_empty() { "all Machines".to_owned() } else { parts.join("; ") },
        settings_schema: about.settings_schema.as_deref().map(schema),
    }
}

fn granted(grants: &Grants) -> Granted {
    Granted {
        egress: grants.egress().iter().map(egress).collect(),
        auth: grants.auth().iter().map(ToString::to_string).collect(),
        secrets: grants.secrets().iter().map(secret).collect(),
        shadow_reads: grants.shadow_reads().iter().map(ToString::to_string).collect(),
        reveal: grants.revealed().iter().map(ToString::to_string).collect(),
    }
}

fn egress(rule: &EgressRule) -> String {
    let ports: Vec<_> = rule.ports().iter().map(ToString::to_string).collect();
    let mut text = format!("{}://{} port {}", rule.scheme().name(), rule.host(), ports.join(", "));
    if !rule.methods().is_empty() {
        let _ = write!(
            text,
            "; {}",
            rule.methods().iter().map(axum::http::Method::as_str).collect::<Vec<_>>().join(", ")
        );
    }
    let (exact, prefixes): (Vec<_>, Vec<_>) =
        rule.paths().iter().partition(|path| matches!(path, PathPattern::Exact(_)));
    if !prefixes.is_empty() {
        let _ = write!(text, "; below {}", joined(&prefixes));
    }
    if !exact.is_empty() {
        let _ = write!(text, "; exactly {}", joined(&exact));
    }
    if !rule.form().is_empty() {
        let _ = write!(text, "; form {}", joined(rule.form()));
    }
    if !rule.headers().is_empty() {
        let _ = write!(text, "; headers {}", joined(rule.headers()));
    }
    let classes = [
        AddressClass::Public,
        AddressClass::Private,
        AddressClass::Shared,
        AddressClass::Loopback,
        AddressClass::LinkLocal,
        AddressClass::Metadata,
    ];
    let addresses = classes.into_iter().filter(|&class| rule.addresses().contains(class));
    let addresses: Vec<_> = addresses.map(AddressClass::name).collect();
    let _ = write!(text, "; addresses {}", addresses.join(", "));
    text
}

fn secret(grant: &SecretGrant) -> String {
    let place = |granted: &GrantedPlace| {
        let place = match granted.place() {
            RequestPlace::Header(name) => format!("header {name}"),
            RequestPlace::Json(pointer) => format!("json {pointer}"),
            RequestPlace::Form(field) => format!("form {field}"),
        };
        if granted.prefix().is_empty() { place } else { format!("{place} behind {:?}", granted.prefix()) }
    };
    let places: Vec<_> = grant.places().iter().map(place).collect();
    let mut text = format!("{} in {}", grant.key(), places.join(", "));
    if !grant.hosts().is_empty() {
        let _ = write!(text, "; hosts {}", joined(grant.hosts()));
    }
    text
}

fn joined<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn shown_policy_limits(limits: &PolicyLimits) -> Vec<Limit> {
    let defaults = PolicyLimits::default();
    let millis = |value: std::time::Duration| u64::try_from(value.as_millis()).unwrap_or(u64::MAX);
    let limit = |name, value, default| Limit { name, value, granted: value != default };
    vec![
        limit("fuel", limits.fuel, defaults.fuel),
        limit("memory_mib", limits.memory_bytes >> 20, defaults.memory_bytes >> 20),
        limit("deadline_ms", millis(limits.deadline), millis(defaults.deadline)),
        limit("copied_kib", limits.copied_bytes >> 10, defaults.copied_bytes >> 10),
    ]
}

fn shown_limits(limits: &Limits, grants: &Grants) -> Vec<Limit> {
    let raw = grants.limits();
    let number = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
    let millis = |value: std::time::Duration| u64::try_from(value.as_millis()).unwrap_or(u64::MAX);
    let own = [
        ("memory_mib", limits.memory_bytes >> 20, raw.memory_mib),
        ("table_elements", limits.table_elements, raw.table_elements),
        ("cpu_ms", millis(limits.cpu), raw.cpu_ms),
        ("deadline_ms", millis(limits.deadline), raw.deadline_ms),
        ("copied_kib", limits.copied_bytes >> 10, raw.copied_kib),
        ("handles", number(limits.handles), raw.handles),
        ("calls_in_flight", number(limits.calls_in_flight), raw.calls_in_flight),
    ];
    let of_egress = [
        ("calls_per_minute", raw.calls_per_minute),
        ("response_kib", raw.response_kib),
        ("request_kib", raw.request_kib),
        ("requests_per_call", raw.requests_per_call),
    ];
    let own = own.into_iter().map(|(name, value, raw)| Limit { name, value, granted: raw.is_some() });
    let of_egress =
        of_egress.into_iter().filter_map(|(name, value)| Some(Limit { name, value: value?, granted: true }));
    own.chain(of_egress).collect()
}
