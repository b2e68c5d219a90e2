//! The parameters of `RunInstances`.

use std::collections::BTreeMap;

use crate::class::spec::{Cpu, Disk, Iam, Interface, Market, Metadata, Reservation, Spec};
use crate::ec2::params::Params;

/// The zone, among the parameters of a placement.
const ZONE: &str = "AvailabilityZone";

/// The values of a launch beside the class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    /// The client token, which prevents a second instance.
    pub(crate) token: &'a str,
    /// The name of the image's root device.
    pub(crate) root_device: &'a str,
    /// The placeholder for the user data in base64.
    pub(crate) user_data: &'a str,
    /// All tags of the instance.
    pub(crate) tags: &'a BTreeMap<String, String>,
    /// Names and values below `Placement.`
    pub(crate) placement: &'a [(String, String)],
}

/// Returns the parameters of `RunInstances`. The same class and launch always give the same ones: EC2 refuses a token
/// with others.
pub(crate) fn parameters(spec: &Spec, launch: Launch<'_>) -> Params {
    let mut params = Params::new("RunInstances")
        .set("ImageId", &spec.ami)
        .set("InstanceType", &spec.machine_type)
        .set("MinCount", 1)
        .set("MaxCount", 1)
        .set("ClientToken", launch.token)
        .set("UserData", launch.user_data)
        .maybe("KeyName", spec.key_name.as_ref());
    params = match &spec.iam {
        Some(Iam::Name(name)) => params.set("IamInstanceProfile.Name", name),
        Some(Iam::Arn(arn)) => params.set("IamInstanceProfile.Arn", arn),
        None => params,
    };
    for (disk, number) in spec.disks.iter().zip(1_usize..) {
        params = with_disk(params, disk, number, launch.root_device);
    }
    for (interface, number) in spec.interfaces.iter().zip(1_usize..) {
        params = with_interface(params, interface, spec.subnet(interface), number);
    }
    for (kind, number) in ["instance", "volume", "network-interface"].into_iter().zip(1_usize..) {
        params = params.set(format!("TagSpecification.{number}.ResourceType"), kind);
        for ((key, value), index) in launch.tags.iter().zip(1_usize..) {
            let at = format!("TagSpecification.{number}.Tag.{index}");
            params = params.set(format!("{at}.Key"), key).set(format!("{at}.Value"), value);
        }
    }
    if let Some(metadata) = &spec.metadata {
        params = with_metadata(params, metadata);
    }
    if let Some(cpu) = &spec.cpu {
        params = with_cpu(params, cpu);
    }
    params = with_reservation(params, spec.reservation.as_ref());
    params = with_market(params, &spec.market);
    for (name, value) in launch.placement.iter().filter(|(name, _)| name != ZONE || spec.zone.is_none()) {
        params = params.set(format!("Placement.{name}"), value);
    }
    // EC2 refuses a launch whose subnet is in another zone.
    params = params.maybe(format!("Placement.{ZONE}"), spec.zone.as_ref());
    params
}

fn with_disk(params: Params, disk: &Disk, number: usize, root_device: &str) -> Params {
    let at = format!("BlockDeviceMapping.{number}");
    params
        .set(format!("{at}.DeviceName"), disk.device.as_deref().unwrap_or(root_device))
        .set(format!("{at}.Ebs.Encrypted"), disk.is_encrypted)
        .set(format!("{at}.Ebs.VolumeSize"), disk.size_gib)
        .set(format!("{at}.Ebs.VolumeType"), &disk.kind)
        .set(format!("{at}.Ebs.DeleteOnTermination"), disk.goes_with_instance)
        .maybe(format!("{at}.Ebs.Iops"), (disk.iops > 0).then_some(disk.iops))
        .maybe(format!("{at}.Ebs.Throughput"), disk.throughput)
        .maybe(format!("{at}.Ebs.SnapshotId"), disk.snapshot.as_ref())
        .maybe(format!("{at}.Ebs.KmsKeyId"), disk.kms_key.as_ref())
}

fn with_interface(params: Params, interface: &Interface, subnet: &str, number: usize) -> Params {
    let at = format!("NetworkInterface.{number}");
    let mut params = params
        .set(format!("{at}.DeviceIndex"), interface.device)
        .maybe(format!("{at}.NetworkCardIndex"), interface.card)
        .maybe(format!("{at}.InterfaceType"), interface.kind.as_ref())
        .set(format!("{at}.SubnetId"), subnet);
    for (group, index) in interface.security_groups.iter().zip(1_usize..) {
        params = params.set(format!("{at}.SecurityGroupId.{index}"), group);
    }
    params
        .maybe(format!("{at}.AssociatePublicIpAddress"), interface.has_public_address)
        .set(format!("{at}.DeleteOnTermination"), interface.goes_with_instance)
        .maybe(format!("{at}.Description"), interface.description.as_ref())
        .maybe(format!("{at}.Ipv6AddressCount"), interface.ipv6_addresses)
        .maybe(format!("{at}.PrimaryIpv6"), interface.ipv6_addresses.map(|_| interface.has_primary_ipv6))
}

fn with_metadata(params: Params, metadata: &Metadata) -> Params {
    params
        .maybe("MetadataOptions.HttpEndpoint", metadata.endpoint.as_ref())
        .maybe("MetadataOptions.HttpTokens", metadata.tokens.as_ref())
        .maybe("MetadataOptions.HttpPutResponseHopLimit", metadata.hops)
        .maybe("MetadataOptions.HttpProtocolIpv6", metadata.ipv6.as_ref())
}

fn with_cpu(params: Params, cpu: &Cpu) -> Params {
    params
        .maybe("CpuOptions.CoreCount", cpu.cores)
        .maybe("CpuOptions.ThreadsPerCore", cpu.threads_per_core)
        .maybe("CpuOptions.AmdSevSnp", cpu.sev_snp.as_ref())
}

fn with_reservation(params: Params, reservation: Option<&Reservation>) -> Params {
    let at = "CapacityReservationSpecification.CapacityReservation";
    match reservation {
        Some(Reservation::Preference(text)) => params.set(format!("{at}Preference"), text),
        Some(Reservation::Id(id)) => params.set(format!("{at}Target.CapacityReservationId"), id),
        Some(Reservation::Group(arn)) => {
            params.set(format!("{at}Target.CapacityReservationResourceGroupArn"), arn)
        }
        None => params,
    }
}

fn with_market(params: Params, market: &Market) -> Params {
    match market {
        Market::OnDemand => params,
        Market::Named(kind) => params.set("InstanceMarketOptions.MarketType", kind),
        Market::Spot { max_price } => params
            .set("InstanceMarketOptions.MarketType", "spot")
            .set("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time")
            .maybe("InstanceMarketOptions.SpotOptions.MaxPrice", max_price.as_ref()),
    }
}
