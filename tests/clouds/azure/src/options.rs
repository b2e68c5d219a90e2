//! The subscription: its networks, images, sizes, rights; and how long Azure works on what.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// A subnet of a virtual network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    pub group: String,
    pub vnet: String,
    pub name: String,
    /// Addresses that network interfaces can have.
    pub addresses: usize,
}

/// A size of VMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    pub name: String,
    pub cores: u32,
    pub memory_mib: u32,
    /// The zones that offer it.
    pub zones: Vec<String>,
}

/// An image of the marketplace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageOffer {
    /// The four parts publisher:offer:sku:version.
    pub urn: String,
    /// Name, product and publisher, for an image that is not free.
    pub plan: Option<[String; 3]>,
}

/// The subscription's agreement to a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Name, product and publisher.
    pub plan: [String; 3],
    pub is_accepted: bool,
}

/// An application that may ask for tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    pub id: String,
    pub secret: Option<String>,
    /// True: the secret is of the past.
    pub is_expired: bool,
    /// Certificates of the application, DER.
    pub certificates: Vec<Vec<u8>>,
    /// Tokens of other issuers that the application trusts.
    pub federated: BTreeSet<String>,
}

/// How a cloud is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub tenant: String,
    pub subscription: String,
    pub clients: Vec<Client>,
    pub location: String,
    pub zones: Vec<String>,
    pub groups: Vec<String>,
    pub subnets: Vec<Subnet>,
    pub sizes: Vec<Size>,
    pub images: Vec<ImageOffer>,
    pub agreements: Vec<Agreement>,
    /// Cores that VMs may have together.
    pub quota_cores: u32,
    /// Rights that the clients lack, such as `Microsoft.Compute/virtualMachines/write`.
    pub denied: BTreeSet<String>,
    /// How long Azure works on a VM, on its deletion, and on a disk or network interface.
    pub create_ms: u64,
    pub delete_ms: u64,
    pub part_ms: u64,
    /// The header `Retry-After` of operations.
    pub retry_after_s: Option<u64>,
    pub token_lifetime_s: u64,
    /// After a change Resource Graph shows the state before for this long.
    pub graph_lag_ms: u64,
    /// After a creation reads do not show the resource for this long.
    pub read_lag_ms: u64,
    /// A page of Resource Graph has at most this many rows.
    pub page_rows: usize,
    /// For this long after a VM has failed, its network interface cannot be deleted.
    pub nic_reserved_ms: u64,
    /// Requests a minute; more are throttled.
    pub requests_per_minute: Option<u32>,
}

impl Default for Options {
    fn default() -> Self {
        let zones = || vec!["1".to_owned(), "2".to_owned(), "3".to_owned()];
        let size = |name: &str, cores: u32, memory_mib: u32| Size {
            name: name.to_owned(),
            cores,
            memory_mib,
            zones: zones(),
        };
        let plan = ["flatcar".to_owned(), "flatcar-paid".to_owned(), "kinvolk".to_owned()];
        Self {
            tenant: "11111111-1111-4111-8111-111111111111".to_owned(),
            subscription: "sub-1".to_owned(),
            clients: vec![Client {
                id: "22222222-2222-4222-8222-222222222222".to_owned(),
                secret: Some("tests~client.secret-0123456789".to_owned()),
                ..Client::default()
            }],
            location: "westeurope".to_owned(),
            zones: zones(),
            groups: vec!["nodes".to_owned(), "network".to_owned(), "other".to_owned()],
            subnets: vec![
                Subnet {
                    group: "nodes".into(),
                    vnet: "vnet".into(),
                    name: "workers".into(),
                    addresses: 4_000,
                },
                Subnet {
                    group: "network".into(),
                    vnet: "shared".into(),
                    name: "workers".into(),
                    addresses: 4_000,
                },
                Subnet { group: "nodes".into(), vnet: "vnet".into(), name: "tiny".into(), addresses: 1 },
            ],
            sizes: vec![
                size("Standard_D2s_v5", 2, 8_192),
                size("Standard_D4s_v5", 4, 16_384),
                size("Standard_D2ps_v5", 2, 8_192),
                Size { zones: vec!["1".to_owned()], ..size("Standard_M128s", 128, 2_097_152) },
            ],
            images: vec![
                ImageOffer { urn: "sap:gardenlinux:greatest:1443.3.0".into(), plan: None },
                ImageOffer { urn: "kinvolk:flatcar-paid:flatcar:3815.2.0".into(), plan: Some(plan.clone()) },
                ImageOffer {
                    urn: "acme:strange:new:1.0.0".into(),
                    plan: Some(["new".into(), "strange".into(), "acme".into()]),
                },
            ],
            agreements: vec![Agreement { plan, is_accepted: false }],
            quota_cores: 10_000,
            denied: BTreeSet::new(),
            create_ms: 200,
            delete_ms: 200,
            part_ms: 0,
            retry_after_s: Some(0),
            token_lifetime_s: 3_600,
            graph_lag_ms: 0,
            read_lag_ms: 0,
            page_rows: 1_000,
            nic_reserved_ms: 0,
            requests_per_minute: None,
        }
    }
}

impl Options {
    /// The secrets of the first client, as a MachineClass's Secret has them.
    pub fn secrets(&self) -> BTreeMap<String, String> {
        let client = self.clients.first().cloned().unwrap_or_default();
        let pairs = [
            ("clientID", client.id),
            ("clientSecret", client.secret.unwrap_or_default()),
            ("tenantID", self.tenant.clone()),
            ("subscriptionID", self.subscription.clone()),
        ];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// A `providerSpec` that works here.
    pub fn provider_spec(&self) -> Value {
        let Subnet { vnet, name, .. } = self.subnets.first().expect("a subnet");
        json!({
            "location": self.location,
            "resourceGroup": self.groups.first(),
            "subnetInfo": { "vnetName": vnet, "subnetName": name },
            "tags": { "kubernetes.io-cluster-lab": "1", "kubernetes.io-role-node": "1" },
            "properties": {
                "hardwareProfile": { "vmSize": self.sizes.first().map(|size| &size.name) },
                "osProfile": { "adminUsername": "core", "linuxConfiguration": { "disablePasswordAuthentication": true } },
                "storageProfile": {
                    "imageReference": { "urn": self.images.first().map(|image| &image.urn) },
                    "osDisk": { "createOption": "FromImage", "diskSizeGB": 50, "managedDisk": { "storageAccountType": "StandardSSD_LRS" } },
                },
                "zone": 1,
            },
        })
    }
}
