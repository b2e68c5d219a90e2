//! Volumes. Reads of them are not subject to the read lag.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::create::check_name_and_tags;
use super::directory::Caller;
use super::keys::{self, KeyedRequest, Purpose};
use super::paging::Page;
use super::vms::scatter;
use super::{Cloud, parse_body};
use crate::index::{Index, Term};
use crate::request::Request;
use crate::wire::answer::Reply;
use crate::wire::error::{ApiError, Code};
use crate::wire::volumes::{AttachVolume, CreateVolume, VolumePage, VolumeState, VolumeView};
use crate::wire::{AttachedVolume, CreateVm, VmState, VolumeRequest};

#[derive(Debug)]
pub(crate) struct Volumes {
    volumes: BTreeMap<u64, Volume>,
    by_id: HashMap<String, u64>,
    index: Index,
    last_seq: u64,
    id_seed: u64,
}

#[derive(Debug)]
struct Volume {
    account: Arc<str>,
    view: VolumeView,
}

impl Volumes {
    pub(crate) fn new(seed: u64) -> Self {
        // Another seed than that of the VMs, so that a volume's id is no VM's.
        let id_seed = seed.wrapping_add(1);
        Self {
            volumes: BTreeMap::new(),
            by_id: HashMap::new(),
            index: Index::default(),
            last_seq: 0,
            id_seed,
        }
    }

    fn insert(&mut self, account: &Arc<str>, wanted: CreateVolume, now: Timestamp) -> u64 {
        self.last_seq += 1;
        let seq = self.last_seq;
        let view = VolumeView {
            id: format!("vol-{:016x}", scatter(seq, self.id_seed)),
            name: wanted.name,
            zone: wanted.zone,
            size_gib: wanted.size_gib,
            tags: wanted.tags,
            state: VolumeState::Available,
            attached_to: None,
            created: now,
        };
        self.by_id.insert(view.id.clone(), seq);
        for term in Term::of(&view.name, &view.tags) {
            self.index.insert(account, term, seq);
        }
        self.volumes.insert(seq, Volume { account: Arc::clone(account), view });
        seq
    }

    fn find(&self, caller: &Caller, id: &str) -> Result<u64, ApiError> {
        self.by_id
            .get(id)
            .filter(|seq| self.volumes.get(seq).is_some_and(|volume| caller.sees(&volume.account)))
            .copied()
            .ok_or_else(|| ApiError::not_found(&format!("volume {id}")))
    }

    fn view(&self, seq: u64) -> Result<&VolumeView, ApiError> {
        self.volumes.get(&seq).map(|volume| &volume.view).ok_or_else(|| ApiError::not_found("the volume"))
    }

    fn remove(&mut self, seq: u64) {
        if let Some(Volume { account, view }) = self.volumes.remove(&seq) {
            self.by_id.remove(&view.id);
            for term in Term::of(&view.name, &view.tags) {
                self.index.remove(&account, term, seq);
            }
        }
    }

    fn set_owner(&mut self, seq: u64, vm: Option<&str>) {
        if let Some(volume) = self.volumes.get_mut(&seq) {
            volume.view.attached_to = vm.map(str::to_owned);
            volume.view.state = if vm.is_some() { VolumeState::InUse } else { VolumeState::Available };
        }
    }

    /// Whether a create of a VM may ask for this volume.
    pub(crate) fn check(
        &self,
        account: &Arc<str>,
        zone: &str,
        wanted: &VolumeRequest,
    ) -> Result<(), ApiError> {
        match (&wanted.id, wanted.size_gib) {
            (Some(id), None) => {
                let seq = self.find(&Caller::Account { name: Arc::clone(account) }, id)?;
                self.check_free(seq, zone)
            }
            (None, Some(1..)) => Ok(()),
            _ => Err(ApiError::invalid("a volume needs either an id or a sizeGib above 0")),
        }
    }

    fn check_free(&self, seq: u64, zone: &str) -> Result<(), ApiError> {
        let view = self.view(seq)?;
        if view.zone != zone {
            return Err(ApiError::invalid(format!("volume {} is in zone {}", view.id, view.zone)));
        }
        match view.state {
            VolumeState::Available => Ok(()),
            VolumeState::InUse => Err(ApiError::new(Code::Conflict, format!("volume {} is in use", view.id))),
        }
    }

    /// Attaches a volume that was checked to the VM that is being made, making it first if it is a fresh one.
    pub(crate) fn provide(
        &mut self,
        account: &Arc<str>,
        vm: &CreateVm,
        wanted: &VolumeRequest,
        (vm_id, slot): (&str, usize),
        now: Timestamp,
    ) -> AttachedVolume {
        let existing = wanted.id.as_ref().and_then(|id| self.by_id.get(id).copied());
        let seq = existing.unwrap_or_else(|| {
            let fresh = CreateVolume {
                name: wanted.name.clone().unwrap_or_else(|| format!("{}-{slot}", vm.name)),
                zone: vm.zone.clone(),
                size_gib: wanted.size_gib.unwrap_or_default(),
                tags: vm.tags.clone(),
            };
            self.insert(account, fresh, now)
        });
        self.set_owner(seq, Some(vm_id));
        AttachedVolume {
            id: self.volumes.get(&seq).map(|volume| volume.view.id.clone()).unwrap_or_default(),
            device: device(slot),
            keep: wanted.keep || existing.is_some(),
        }
    }

    /// Frees or deletes a volume whose VM ended.
    pub(crate) fn release(&mut self, volume: &AttachedVolume) {
        let Some(seq) = self.by_id.get(&volume.id).copied() else { return };
        if volume.keep {
            self.set_owner(seq, None);
        } else {
            self.remove(seq);
        }
    }
}

fn device(slot: usize) -> String {
    let letter = u8::try_from(slot).ok().and_then(|slot| b'b'.checked_add(slot)).map_or('z', char::from);
    format!("/dev/vd{letter}")
}

impl Cloud {
    pub(super) fn create_volume(&mut self, account: &Arc<str>, request: &Request) -> Result<Reply, ApiError> {
        let wanted: CreateVolume = parse_body(request)?;
        let keyed = match &request.idempotency_key {
            Some(key) => Some(KeyedRequest::new(account, Purpose::Volume, key, &wanted)?),
            None => None,
        };
        if let Some(keyed) = &keyed
            && let Some(seq) = self.keys.made(keyed)?
        {
            return Reply::json(200, self.volumes.view(seq).map_err(|_| keys::gone())?);
        }
        check_name_and_tags(&wanted.name, &wanted.tags)?;
        self.region_of(&wanted.zone)?;
        if wanted.size_gib == 0 {
            return Err(ApiError::invalid("sizeGib is 0"));
        }
        let seq = self.volumes.insert(account, wanted, self.now);
        if let Some(keyed) = keyed {
            self.keys.remember(keyed, seq);
        }
        Reply::json(201, self.volumes.view(seq)?)
    }

    pub(super) fn get_volume(&self, caller: &Caller, id: &str) -> Result<Reply, ApiError> {
        Reply::json(200, self.volumes.view(self.volumes.find(caller, id)?)?)
    }

    pub(super) fn list_volumes(&self, account: &Arc<str>, request: &Request) -> Result<Reply, ApiError> {
        let page = Page::parse(request)?;
        let mut terms = vec![Term::Any];
        terms.extend(request.query_all("tag").map(Term::tag));
        terms.extend(request.query("name").map(|name| Term::Name(name.to_owned())));
        let found = self.volumes.index.candidates(account, &terms, page.after).filter_map(|seq| {
            let view = &self.volumes.volumes.get(&seq)?.view;
            terms.iter().all(|term| term.holds(&view.name, &view.tags)).then(|| (seq, view.clone()))
        });
        let (volumes, next_cursor) = page.take(found);
        Reply::json(200, &VolumePage { volumes, next_cursor })
    }

    pub(super) fn delete_volume(&mut self, caller: &Caller, id: &str) -> Result<Reply, ApiError> {
        let seq = self.volumes.find(caller, id)?;
        if self.volumes.view(seq)?.state == VolumeState::InUse {
            return Err(ApiError::new(Code::Conflict, format!("volume {id} is in use")));
        }
        self.volumes.remove(seq);
        Ok(Reply::empty(202))
    }

    pub(super) fn attach_volume(
        &mut self,
        caller: &Caller,
        id: &str,
        request: &Request,
    ) -> Result<Reply, ApiError> {
        let wanted: AttachVolume = parse_body(request)?;
        let seq = self.volumes.find(caller, id)?;
        let vm_seq = self.existing(caller, &wanted.vm)?;
        let vm = self.vms.get_mut(vm_seq).ok_or_else(|| ApiError::not_found("the VM"))?;
        if self.volumes.view(seq)?.attached_to.as_ref() == Some(&wanted.vm) {
            return Reply::json(200, self.volumes.view(seq)?);
        }
        if vm.truth.state != VmState::Running {
            return Err(ApiError::new(Code::Conflict, "the VM does not run"));
        }
        self.volumes.check_free(seq, &vm.truth.zone)?;
        let taken = |name: &String| vm.truth.volumes.iter().any(|volume| volume.device == *name);
        let device = (0..super::create::VOLUMES_LIMIT).map(device).find(|name| !taken(name));
        let device = device.ok_or_else(|| ApiError::new(Code::Conflict, "the VM has no free device"))?;
        vm.truth.volumes.push(AttachedVolume { id: id.to_owned(), device, keep: true });
        self.volumes.set_owner(seq, Some(&wanted.vm));
        self.publish(vm_seq);
        Reply::json(200, self.volumes.view(seq)?)
    }

    pub(super) fn detach_volume(&mut self, caller: &Caller, id: &str) -> Result<Reply, ApiError> {
        let seq = self.volumes.find(caller, id)?;
        let owner = self.volumes.view(seq)?.attached_to.clone();
        self.volumes.set_owner(seq, None);
        let vm_seq = owner.and_then(|vm| self.vms.find(&vm)).map(|vm| vm.seq);
        if let Some(vm) = vm_seq.and_then(|vm_seq| self.vms.get_mut(vm_seq)) {
            vm.truth.volumes.retain(|volume| volume.id != id);
            let vm_seq = vm.seq;
            self.publish(vm_seq);
        }
        Reply::json(200, self.volumes.view(seq)?)
    }
}
