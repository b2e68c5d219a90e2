//! The definitions of the kinds for Cluster API: labels of its contract, columns, and rules.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::names::labels;
use super::{
    MachinistCluster, MachinistClusterTemplate, MachinistIdentity, MachinistMachine,
    MachinistMachineTemplate, MachinistRemediation, MachinistRemediationTemplate,
};
use crate::crd::rules::Rule;
use crate::crd::{AGE, Column, Error, Surface, column, definition};

/// Returns the definitions of the kinds for Cluster API.
///
/// # Errors
/// When a type's schema is not what an API server takes.
pub fn definitions() -> Result<Vec<CustomResourceDefinition>, Error> {
    Ok(vec![
        definition::<MachinistCluster>(&CLUSTER)?,
        definition::<MachinistClusterTemplate>(&CLUSTER_TEMPLATE)?,
        definition::<MachinistIdentity>(&IDENTITY)?,
        definition::<MachinistMachine>(&MACHINE)?,
        definition::<MachinistMachineTemplate>(&MACHINE_TEMPLATE)?,
        definition::<MachinistRemediation>(&REMEDIATION)?,
        definition::<MachinistRemediationTemplate>(&REMEDIATION_TEMPLATE)?,
    ])
}

/// Cluster API finds the versions of a contract by the first label, `clusterctl` the parts of a provider by the second
/// and the objects to move by the third.
const LABELS: &[(&str, &str)] = &[
    (labels::CONTRACT, super::VERSION),
    (labels::PROVIDER, "infrastructure-machinist"),
    (labels::MOVED, ""),
];

const BASE: Surface = Surface { categories: &["cluster-api"], labels: LABELS, ..Surface::PLAIN };

const CLUSTER_NAME: Column = column(
    "Cluster",
    "string",
    r".metadata.labels.cluster\.x-k8s\.io/cluster-name",
    "Cluster that the object belongs to.",
);
const READY: Column = column(
    "Ready",
    "string",
    ".status.conditions[?(@.type==\"Ready\")].status",
    "Whether it is as it should be.",
);
const REASON: Column = column(
    "Reason",
    "string",
    ".status.conditions[?(@.type==\"Ready\")].reason",
    "Why it is ready, or what it waits for.",
);

const MACHINE: Surface = Surface {
    short_name: "mim",
    columns: &[
        CLUSTER_NAME,
        READY,
        REASON,
        column("ProviderID", "string", ".spec.providerID", "The cloud's ID of the VM."),
        Column {
            priority: 1,
            ..column("Provider", "string", ".spec.provider", "Provider, which selects the driver.")
        },
        AGE,
    ],
    rules: of_machine,
    ..BASE
};

const MACHINE_TEMPLATE: Surface = Surface {
    short_name: "mimt",
    columns: &[
        column("Provider", "string", ".spec.template.spec.provider", "Provider, which selects the driver."),
        AGE,
    ],
    rules: of_machine_template,
    ..BASE
};

const REMEDIATION: Surface = Surface {
    short_name: "mir",
    columns: &[
        CLUSTER_NAME,
        column("Reboots", "integer", ".status.retryCount", "How many reboots were requested."),
        column(
            "Reason",
            "string",
            ".status.conditions[?(@.type==\"Remediated\")].reason",
            "What was done, or what it waits for.",
        ),
        AGE,
    ],
    ..BASE
};

/// Nothing of Cluster API owns a template: `clusterctl` moves all of a namespace.
const REMEDIATION_TEMPLATE: Surface = Surface {
    short_name: "mirt",
    columns: &[AGE],
    labels: &[
        (labels::CONTRACT, super::VERSION),
        (labels::PROVIDER, "infrastructure-machinist"),
        (labels::MOVED, ""),
        ("clusterctl.cluster.x-k8s.io/move", ""),
    ],
    has_status: false,
    ..BASE
};

const CLUSTER: Surface = Surface {
    short_name: "mic",
    columns: &[
        CLUSTER_NAME,
        READY,
        REASON,
        column("Endpoint", "string", ".spec.controlPlaneEndpoint.host", "Host of the API server."),
        AGE,
    ],
    rules: of_cluster,
    ..BASE
};

const CLUSTER_TEMPLATE: Surface =
    Surface { short_name: "mict", columns: &[AGE], has_status: false, rules: of_cluster_template, ..BASE };

/// Cluster API does not know this kind; `clusterctl` moves it, but not its Secret.
const IDENTITY: Surface = Surface {
    short_name: "mid",
    columns: &[
        column("Namespace", "string", ".spec.secretRef.namespace", "Namespace of the Secret."),
        column("Secret", "string", ".spec.secretRef.name", "Name of the Secret with the credentials."),
        AGE,
    ],
    labels: &[
        (labels::PROVIDER, "infrastructure-machinist"),
        (labels::MOVED, ""),
        ("clusterctl.cluster.x-k8s.io/move-hierarchy", ""),
    ],
    is_namespaced: false,
    has_status: false,
    ..BASE
};

fn of_machine() -> Vec<Rule> {
    let mut rules = source("spec");
    rules.push(Rule::of_value(
        "spec",
        "!has(oldSelf.providerID) || (has(self.providerID) && self.providerID == oldSelf.providerID)",
        "providerID is the VM that the object has: it cannot change once it is set",
    ));
    rules
}

fn of_machine_template() -> Vec<Rule> {
    let mut rules = source("spec.template.spec");
    rules.push(Rule::of_value(
        "spec.template.spec",
        "!has(self.providerID)",
        "a template makes VMs: leave out providerID",
    ));
    rules
}

/// Provider and parameters are in the object, or in one class.
fn source(at: &str) -> Vec<Rule> {
    vec![
        Rule::of_value(
            at,
            "has(self.provider) != has(self.classRef)",
            "set provider and providerSpec, or classRef, and not both",
        ),
        Rule::of_value(
            at,
            "!has(self.classRef) || !has(self.providerSpec)",
            "the class of classRef has the providerSpec: leave it out here",
        ),
    ]
}

fn of_cluster() -> Vec<Rule> {
    endpoint("spec")
}

fn of_cluster_template() -> Vec<Rule> {
    endpoint("spec.template.spec")
}

fn endpoint(at: &str) -> Vec<Rule> {
    let at = format!("{at}.controlPlaneEndpoint.port");
    vec![Rule::of_value(at, "self >= 1 && self <= 65535", "not a port: set it to a number from 1 to 65535")]
}
