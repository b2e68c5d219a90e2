//! The smaller parts of a class: market, capacity reservation, metadata service, processor, placement.

use super::{needed, one_of};
use crate::class::lenient::{Findings, Object};

const SWITCH: [&str; 2] = ["enabled", "disabled"];

/// The market of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Market {
    #[default]
    OnDemand,
    /// The market that the class names.
    Named(String),
    /// Spot by the deprecated `spotPrice`.
    Spot { max_price: Option<String> },
}

pub(super) fn market(root: &mut Object<'_>, findings: &mut Findings) -> Market {
    let price = root.optional_text("spotPrice", findings);
    let named = root.object("instanceMarketOptions", findings).map(|mut options| {
        let kind = needed(&mut options, "marketType", findings);
        let allowed = ["spot", "capacity-block", "interruptible-capacity-reservation"];
        one_of(&mut options, "marketType", &allowed, findings);
        options.finish(findings);
        kind
    });
    if price.is_some() {
        let advice = if named.is_some() { "ignored beside instanceMarketOptions" } else { "deprecated" };
        findings.warning(format!("spotPrice is {advice}: use instanceMarketOptions.marketType spot"));
    }
    match (named, price) {
        (Some(kind), _) => Market::Named(kind),
        (None, Some(price)) => Market::Spot { max_price: Some(price).filter(|price| !price.is_empty()) },
        (None, None) => Market::OnDemand,
    }
}

/// The capacity reservation that a launch uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reservation {
    Preference(String),
    Id(String),
    Group(String),
}

pub(super) fn reservation(root: &mut Object<'_>, findings: &mut Findings) -> Option<Reservation> {
    let mut object = root.object("capacityReservation", findings)?;
    let preference = object.text("capacityReservationPreference", findings);
    let set = |text: Option<String>| text.filter(|text| !text.is_empty());
    let id = set(object.optional_text("capacityReservationId", findings));
    let group = set(object.optional_text("capacityReservationResourceGroupArn", findings));
    let at = "capacityReservation.capacityReservation";
    if id.is_some() && group.is_some() {
        findings.problem(format!("{at}Id and {at}ResourceGroupArn exclude each other"));
    }
    if !preference.is_empty() && (id.is_some() || group.is_some()) {
        findings.problem(format!("{at}Preference excludes {at}Id and {at}ResourceGroupArn"));
    }
    object.finish(findings);
    let preference = Some(preference).filter(|preference| !preference.is_empty());
    preference.map(Reservation::Preference).or(id.map(Reservation::Id)).or(group.map(Reservation::Group))
}

/// Options of the instance's metadata service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) endpoint: Option<String>,
    pub(crate) tokens: Option<String>,
    pub(crate) hops: Option<i32>,
    pub(crate) ipv6: Option<String>,
}

pub(super) fn metadata(root: &mut Object<'_>, findings: &mut Findings) -> Option<Metadata> {
    let mut object = root.object("instanceMetadataOptions", findings)?;
    let hops = object.optional_number("httpPutResponseHopLimit", findings);
    if let Some(wrong) = hops.filter(|hops| !(0..=64).contains(hops)) {
        findings.problem(format!("{} must be 0 to 64, got {wrong}", object.path("httpPutResponseHopLimit")));
    }
    let metadata = Metadata {
        endpoint: one_of(&mut object, "httpEndpoint", &SWITCH, findings),
        tokens: one_of(&mut object, "httpTokens", &["required", "optional"], findings),
        hops,
        ipv6: one_of(&mut object, "httpProtocolIpv6", &SWITCH, findings),
    };
    object.finish(findings);
    Some(metadata)
}

/// Options of the instance's processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cpu {
    pub(crate) cores: Option<i32>,
    pub(crate) threads_per_core: Option<i32>,
    pub(crate) sev_snp: Option<String>,
}

pub(super) fn cpu(root: &mut Object<'_>, findings: &mut Findings) -> Option<Cpu> {
    let mut object = root.object("cpuOptions", findings)?;
    let cpu = Cpu {
        cores: object.optional_number("coreCount", findings),
        threads_per_core: object.optional_number("threadsPerCore", findings),
        sev_snp: one_of(&mut object, "amdSevSnp", &SWITCH, findings),
    };
    if cpu.cores.is_some() != cpu.threads_per_core.is_some() {
        findings.problem("cpuOptions.coreCount and cpuOptions.threadsPerCore go together: one is missing");
    }
    if let Some(wrong) = cpu.threads_per_core.filter(|threads| !(1..=2).contains(threads)) {
        findings.problem(format!("cpuOptions.threadsPerCore must be 1 or 2, got {wrong}"));
    }
    object.finish(findings);
    Some(cpu)
}

/// The placement of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) group_id: Option<String>,
    pub(crate) host_id: Option<String>,
    pub(crate) partition: Option<i32>,
    pub(crate) tenancy: Option<String>,
    pub(crate) affinity: Option<String>,
}

pub(super) fn placement(root: &mut Object<'_>, findings: &mut Findings) -> Option<Placement> {
    let mut object = root.object("placement", findings)?;
    let set = |text: Option<String>| text.filter(|text| !text.is_empty());
    let placement = Placement {
        group_id: set(object.optional_text("groupId", findings)),
        host_id: set(object.optional_text("hostId", findings)),
        partition: object.optional_number("partitionNumber", findings),
        tenancy: one_of(&mut object, "tenancy", &["default", "dedicated", "host"], findings),
        affinity: one_of(&mut object, "affinity", &["default", "host"], findings),
    };
    if placement.host_id.is_some() && placement.tenancy.as_deref() != Some("host") {
        findings.problem("placement.hostId needs placement.tenancy host");
    }
    if let Some(wrong) = placement.partition.filter(|partition| *partition < 1) {
        findings.problem(format!("placement.partitionNumber must be at least 1, got {wrong}"));
    }
    object.finish(findings);
    Some(placement)
}
