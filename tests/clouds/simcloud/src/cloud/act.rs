//! Reading and changing VMs that exist.

use std::sync::Arc;

use serde_json::json;

use super::create::check_name_and_tags;
use super::directory::Caller;
use super::paging::Page;
use super::{Cloud, parse_body};
use crate::cloud::journal::EventKind;
use crate::index::Term;
use crate::request::Request;
use crate::wire::answer::Reply;
use crate::wire::error::{ApiError, Code};
use crate::wire::{Initialize, PatchTags, VmPage, VmState};

impl Cloud {
    pub(super) fn regions(&self) -> Result<Reply, ApiError> {
        let regions: Vec<_> =
            self.config.regions.iter().map(|(name, zones)| json!({"name": name, "zones": zones})).collect();
        Reply::json(
            200,
            &json!({"regions": regions, "types": self.config.types, "images": self.config.images}),
        )
    }

    pub(super) fn get_vm(&self, caller: &Caller, id: &str) -> Result<Reply, ApiError> {
        let view = self
            .vms
            .find(id)
            .filter(|vm| caller.sees(&vm.account))
            .and_then(|vm| vm.seen.get(self.now)?.as_ref())
            .ok_or_else(|| ApiError::not_found(&format!("VM {id}")))?;
        Reply::json(200, view)
    }

    pub(super) fn list_vms(&self, account: &Arc<str>, request: &Request) -> Result<Reply, ApiError> {
        let page = Page::parse(request)?;
        let mut terms = vec![Term::Any];
        terms.extend(request.query_all("tag").map(Term::tag));
        terms.extend(request.query("name").map(|name| Term::Name(name.to_owned())));
        let states = request
            .query_all("state")
            .map(|name| {
                VmState::parse(name).ok_or_else(|| ApiError::invalid(format!("state {name} does not exist")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let (zone, region) = (request.query("zone"), request.query("region"));
        let found = self.vms.visible(account, &terms, page.after, self.now).filter(|(_, view)| {
            (states.is_empty() || states.contains(&view.state))
                && zone.is_none_or(|zone| zone == view.zone)
                && region.is_none_or(|region| region == view.region)
        });
        let (vms, next_cursor) = page.take(found);
        Reply::page(VmPage { vms: vms.into_iter().map(Arc::clone).collect(), next_cursor }, request)
    }

    pub(super) fn delete_vm(&mut self, caller: &Caller, id: &str) -> Result<Reply, ApiError> {
        let seq = self.existing(caller, id)?;
        if self.vms.get(seq).is_some_and(|vm| vm.truth.state.is_live()) {
            self.stop(seq);
        }
        self.show(seq, 202)
    }

    pub(super) fn reboot_vm(&mut self, caller: &Caller, id: &str) -> Result<Reply, ApiError> {
        let seq = self.existing(caller, id)?;
        let vm = self.vms.get_mut(seq).filter(|vm| vm.truth.state == VmState::Running);
        let vm = vm.ok_or_else(|| ApiError::new(Code::Conflict, "the VM does not run"))?;
        vm.truth.boot_id += 1;
        vm.append_console("rebooted");
        self.publish(seq);
        self.record(seq, EventKind::Rebooted);
        self.show(seq, 202)
    }

    pub(super) fn tag_vm(&mut self, caller: &Caller, id: &str, request: &Request) -> Result<Reply, ApiError> {
        let patch: PatchTags = parse_body(request)?;
        let seq = self.existing(caller, id)?;
        let vm = self.vms.get(seq).ok_or_else(|| ApiError::not_found(id))?;
        let mut tags = vm.truth.tags.clone();
        tags.retain(|key, _| !patch.remove.contains(key));
        tags.extend(patch.set);
        check_name_and_tags(&vm.truth.name, &tags)?;
        self.vms.retag(seq, tags);
        self.publish(seq);
        self.show(seq, 200)
    }

    pub(super) fn initialize_vm(
        &mut self,
        caller: &Caller,
        id: &str,
        request: &Request,
    ) -> Result<Reply, ApiError> {
        let wanted: Initialize = parse_body(request)?;
        let seq = self.existing(caller, id)?;
        let vm = self.vms.get_mut(seq).filter(|vm| vm.truth.state.is_live());
        let vm = vm.ok_or_else(|| ApiError::new(Code::Conflict, "the VM was deleted"))?;
        vm.truth.source_dest_check = wanted.source_dest_check.unwrap_or(vm.truth.source_dest_check);
        vm.truth.initialized = true;
        self.publish(seq);
        self.show(seq, 200)
    }

    pub(super) fn user_data(&self, caller: &Caller, id: &str) -> Result<Reply, ApiError> {
        let seq = self.existing(caller, id)?;
        let vm = self.vms.get(seq).ok_or_else(|| ApiError::not_found(id))?;
        Reply::json(200, &json!({"userData": vm.user_data}))
    }

    pub(super) fn console(&self, caller: &Caller, id: &str) -> Result<Reply, ApiError> {
        let seq = self.existing(caller, id)?;
        let vm = self.vms.get(seq).ok_or_else(|| ApiError::not_found(id))?;
        Reply::json(200, &json!({"output": vm.console()}))
    }

    /// The number of a VM that exists for the caller. Changes are not subject to the read lag.
    pub(super) fn existing(&self, caller: &Caller, id: &str) -> Result<u64, ApiError> {
        self.vms
            .find(id)
            .filter(|vm| caller.sees(&vm.account) && !vm.is_forgotten())
            .map(|vm| vm.seq)
            .ok_or_else(|| ApiError::not_found(&format!("VM {id}")))
    }

    /// The VM as it is.
    pub(super) fn show(&self, seq: u64, status: u16) -> Result<Reply, ApiError> {
        let vm = self.vms.get(seq).ok_or_else(|| ApiError::not_found("the VM"))?;
        Reply::json(status, &vm.truth)
    }
}
