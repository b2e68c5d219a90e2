//! Creating a VM: at most one for a key, and only within quota and capacity.

use std::net::Ipv4Addr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::RngExt;

use super::keys::{self, KeyedRequest, Purpose};
use super::lifecycle::Due;
use super::vm::Vm;
use super::{Cloud, parse_body};
use crate::cloud::journal::EventKind;
use crate::request::Request;
use crate::wire::answer::Reply;
use crate::wire::error::{ApiError, Code};
use crate::wire::{Address, CreateVm, VmState, VmView};

const NAME_LIMIT_BYTES: usize = 253;
const TAGS_LIMIT: usize = 50;
const TAG_KEY_LIMIT_BYTES: usize = 128;
const TAG_VALUE_LIMIT_BYTES: usize = 256;
const USER_DATA_LIMIT_BYTES: usize = 64 * 1024;
/// As many as there are device letters after the root volume's.
pub(super) const VOLUMES_LIMIT: usize = 25;

impl Cloud {
    pub(super) fn create_vm(&mut self, account: &Arc<str>, request: &Request) -> Result<Reply, ApiError> {
        let wanted: CreateVm = parse_body(request)?;
        let keyed = match &request.idempotency_key {
            Some(key) => Some(KeyedRequest::new(account, Purpose::Vm, key, &wanted)?),
            None => None,
        };
        if let Some(keyed) = &keyed
            && let Some(seq) = self.keys.made(keyed)?
        {
            let vm = self.vms.get(seq).filter(|vm| vm.truth.state.is_live()).ok_or_else(keys::gone)?;
            return Reply::json(200, &vm.truth);
        }
        let region = self.check(account, &wanted)?;
        self.check_room(account, &wanted)?;
        let seq = self.make(account, wanted, region);
        if let Some(keyed) = keyed {
            self.keys.remember(keyed, seq);
        }
        let vm = self.vms.get(seq).ok_or_else(|| ApiError::new(Code::Internal, "the VM was lost"))?;
        Reply::json(201, &vm.truth)
    }

    /// Checks each value; gives the region of the zone.
    fn check(&self, account: &Arc<str>, wanted: &CreateVm) -> Result<String, ApiError> {
        check_name_and_tags(&wanted.name, &wanted.tags)?;
        let region = self.region_of(&wanted.zone)?;
        if !self.config.types.contains_key(&wanted.kind) {
            return Err(ApiError::invalid(format!("type {} does not exist", wanted.kind)));
        }
        if !self.config.images.contains(&wanted.image) {
            return Err(ApiError::new(Code::ImageNotFound, format!("image {} does not exist", wanted.image)));
        }
        let user_data = STANDARD.decode(&wanted.user_data);
        if user_data.map_err(|_| ApiError::invalid("userData is not base64"))?.len() > USER_DATA_LIMIT_BYTES {
            return Err(ApiError::invalid(format!("userData is over {USER_DATA_LIMIT_BYTES} bytes")));
        }
        if wanted.volumes.len() > VOLUMES_LIMIT {
            return Err(ApiError::invalid(format!("over {VOLUMES_LIMIT} volumes")));
        }
        for volume in &wanted.volumes {
            self.volumes.check(account, &wanted.zone, volume)?;
        }
        Ok(region)
    }

    fn check_room(&self, account: &Arc<str>, wanted: &CreateVm) -> Result<(), ApiError> {
        if self.directory.quota(account).is_some_and(|quota| self.vms.used_by(account) >= quota as u64) {
            return Err(ApiError::new(Code::QuotaExceeded, "the account has as many VMs as it may have"));
        }
        let is_full = self
            .faults
            .faults()
            .capacity
            .iter()
            .any(|room| room.covers(&wanted.zone, &wanted.kind) && self.vms.used_of(room) >= room.limit);
        if is_full {
            let message = format!("zone {} has no room for type {}", wanted.zone, wanted.kind);
            return Err(ApiError::new(Code::CapacityExhausted, message));
        }
        Ok(())
    }

    fn make(&mut self, account: &Arc<str>, wanted: CreateVm, region: String) -> u64 {
        let (seq, id) = self.vms.next_identity();
        let volumes = wanted
            .volumes
            .iter()
            .enumerate()
            .map(|(slot, volume)| self.volumes.provide(account, &wanted, volume, (&id, slot), self.now))
            .collect();
        let truth = VmView {
            addresses: addresses(seq, &wanted.name),
            id,
            name: wanted.name,
            state: VmState::Pending,
            state_reason: None,
            region,
            zone: wanted.zone,
            kind: wanted.kind,
            image: wanted.image,
            tags: wanted.tags,
            volumes,
            source_dest_check: true,
            initialized: !wanted.needs_initialize,
            boot_id: 1,
            created: self.now,
        };
        let mut vm = Vm::new(seq, Arc::clone(account), truth, wanted.user_data);
        vm.append_console("created");
        let doom = self.faults.faults().boot_failure_probability;
        vm.is_doomed = doom > 0.0 && self.rng.random::<f64>() < doom;
        self.vms.insert(vm);
        self.publish(seq);
        self.record(seq, EventKind::Created);
        let boot = self.jittered(self.latency().boot_ms);
        self.timers.push(self.after(boot), Due::Boot(seq));
        seq
    }

    /// The region that has this zone.
    pub(super) fn region_of(&self, zone: &str) -> Result<String, ApiError> {
        self.config
            .regions
            .iter()
            .find(|(_, zones)| zones.iter().any(|name| name == zone))
            .map(|(region, _)| region.clone())
            .ok_or_else(|| ApiError::invalid(format!("zone {zone} does not exist")))
    }
}

/// The rules for names and tags of VMs and volumes.
pub(super) fn check_name_and_tags(
    name: &str,
    tags: &std::collections::BTreeMap<String, String>,
) -> Result<(), ApiError> {
    if name.is_empty() || name.len() > NAME_LIMIT_BYTES {
        return Err(ApiError::invalid(format!("name must have 1 to {NAME_LIMIT_BYTES} bytes")));
    }
    if tags.len() > TAGS_LIMIT {
        return Err(ApiError::invalid(format!("over {TAGS_LIMIT} tags")));
    }
    for (key, value) in tags {
        if key.is_empty() || key.len() > TAG_KEY_LIMIT_BYTES || key.contains(':') {
            return Err(ApiError::invalid(format!("tag key {key:?} is empty, too long or has a colon")));
        }
        if value.len() > TAG_VALUE_LIMIT_BYTES {
            return Err(ApiError::invalid(format!("the value of tag {key:?} is too long")));
        }
    }
    Ok(())
}

/// Addresses out of 10.0.0.0/8, in order of creation.
fn addresses(seq: u64, name: &str) -> Vec<Address> {
    let offset = u32::try_from(seq % (1 << 24)).unwrap_or(0);
    let ip = Ipv4Addr::from_bits((10 << 24) | offset);
    let address = |kind: &str, address: String| Address { kind: kind.to_owned(), address };
    vec![
        address("InternalIP", ip.to_string()),
        address("InternalDNS", format!("{name}.sim.internal")),
        address("Hostname", name.to_owned()),
    ]
}
