//! The parts that exist before their VM: the network interface, and disks with images. And the agreements to images of
//! the marketplace.

use std::collections::BTreeMap;

use machinist_sdk::driver::{Code, Failure, quoted};
use serde_json::{Value, json};

use crate::arm::Found;
use crate::arm::answer::{NicFacts, Provisioning};
use crate::arm::names::{self, Kind, ResourceId};
use crate::arm::operation::ASK_AGAIN_MS;
use crate::class::storage::{Image, Urn};
use crate::tags::Tags;
use crate::vm::body::{self, Plan};
use crate::vm::machine::{Known, Machines, Outcome};
use crate::vm::marks::Whose;

/// The time until a part is looked at again.
const PART_MS: u64 = 2_000;

/// The state of the parts.
pub(crate) enum Parts<T> {
    Ready(T),
    /// The next call goes on.
    Waiting {
        ask_again_ms: u64,
        message: String,
    },
}

/// A network interface that is there.
pub(crate) struct Nic {
    pub(crate) address: Option<String>,
    /// True if it is attached to the VM, which then exists, whatever reads show.
    pub(crate) is_attached: bool,
}

impl Machines<'_> {
    /// Makes the network interface unless it is there.
    pub(crate) fn nic(
        &self,
        known: &Known<'_>,
        vm: &ResourceId,
        tags: &BTreeMap<String, String>,
    ) -> Outcome<Parts<Nic>> {
        let id = vm.beside(Kind::Nic, &names::nic(&vm.name));
        let subnet = self.arm.subnet(&known.spec);
        if let Found::Here(facts) = self.arm.nic(&id)? {
            if let Some(foreign) = foreign(known, &id, &facts.tags) {
                return Err(foreign);
            }
            if let Some(other) = facts.vm.as_deref() {
                if !vm.is(other) {
                    return Err(Failure::new(
                        Code::FailedPrecondition,
                        format!("the network interface {} is attached to another VM: detach it", id.name),
                    ));
                }
                return Ok(Parts::Ready(Nic { address: facts.address, is_attached: true }));
            }
            let fits = facts.subnet.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(&subnet));
            match facts.state {
                Provisioning::Succeeded if fits => return Ok(nic_of(facts, &id, vm)),
                Provisioning::Deleting => return Ok(waiting(&id, "is being deleted")),
                // Made again below, with the class's subnet.
                Provisioning::Succeeded
                | Provisioning::Failed
                | Provisioning::Creating
                | Provisioning::Updating
                | Provisioning::Other => {}
            }
        }
        let made = self.arm.put_nic(&id, body::nic(&known.spec, &id, &subnet, tags))?;
        self.log.info("network interface created", &[("name", &id.name)]);
        Ok(nic_of(made, &id, vm))
    }

    /// Makes the disks with images unless they are there.
    pub(crate) fn disks(
        &self,
        known: &Known<'_>,
        vm: &ResourceId,
        tags: &BTreeMap<String, String>,
    ) -> Outcome<Parts<()>> {
        let mut waits = None;
        for disk in known.spec.data_disks.iter().filter(|disk| disk.image.is_some()) {
            let id = vm.beside(Kind::Disk, &names::data_disk(&vm.name, disk));
            if let Found::Here(facts) = self.arm.disk(&id)? {
                if let Some(foreign) = foreign(known, &id, &facts.tags) {
                    return Err(foreign);
                }
                match facts.state {
                    Provisioning::Succeeded if facts.zone == known.spec.zone() => continue,
                    // An earlier create has made it for a VM in a zone without capacity.
                    Provisioning::Succeeded => {
                        self.arm.delete(&id)?;
                        waits = Some(waiting(&id, "is in another zone, and is removed first"));
                        continue;
                    }
                    Provisioning::Failed => {
                        self.arm.delete(&id)?;
                        waits = Some(waiting(&id, "could not be created, and is removed first"));
                        continue;
                    }
                    Provisioning::Creating
                    | Provisioning::Updating
                    | Provisioning::Deleting
                    | Provisioning::Other => {
                        waits = Some(waiting(&id, "is not ready yet"));
                        continue;
                    }
                }
            }
            let image = match &disk.image {
                Some(Image::Urn(urn)) => Some(self.marketplace_image(known, urn)?.id),
                _ => None,
            };
            let accepted = self.arm.put_disk(&id, body::disk(&known.spec, disk, image.as_deref(), tags))?;
            self.log.info("data disk ordered", &[("name", &id.name)]);
            let ask_again_ms = accepted.ask_again_ms().min(ASK_AGAIN_MS);
            let message = format!("the disk {} is being created", id.name);
            waits = Some(Parts::Waiting { ask_again_ms, message });
        }
        Ok(waits.unwrap_or(Parts::Ready(())))
    }

    /// Returns the plan of an image of the marketplace, and accepts its terms.
    pub(crate) fn plan(&self, known: &Known<'_>) -> Outcome<Option<Plan>> {
        let Some(Image::Urn(urn)) = known.spec.image.as_ref().filter(is_to_agree) else {
            return Ok(None);
        };
        let Some(plan) = self.marketplace_image(known, urn)?.plan else { return Ok(None) };
        let Plan { name, product, publisher } = &plan;
        let agreement = self.arm.agreement(publisher, product, name).map_err(|failed| {
            if failed.is_absence() { no_agreement(&plan) } else { Failure::from(failed) }
        })?;
        let is_accepted = agreement.pointer("/properties/accepted").and_then(Value::as_bool) == Some(true);
        if !is_accepted {
            let mut accepted = agreement;
            accepted["properties"]["accepted"] = json!(true);
            self.arm.accept(publisher, product, name, accepted)?;
            self.log.info("marketplace agreement accepted", &[("product", product)]);
        }
        Ok(Some(plan))
    }

    fn marketplace_image(&self, known: &Known<'_>, urn: &Urn) -> Outcome<MarketplaceImage> {
        let value = self.arm.image(&known.spec.location, urn).map_err(|failed| {
            if failed.is_absence() { no_image(urn, &known.spec.location) } else { Failure::from(failed) }
        })?;
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let plan = || {
            Some(Plan {
                name: text("/properties/plan/name")?,
                product: text("/properties/plan/product")?,
                publisher: text("/properties/plan/publisher")?,
            })
        };
        let id = text("/id").ok_or_else(|| Failure::new(Code::Internal, "Azure names no id of the image"))?;
        Ok(MarketplaceImage { id, plan: plan() })
    }
}

struct MarketplaceImage {
    id: String,
    plan: Option<Plan>,
}

fn is_to_agree(image: &&Image) -> bool {
    matches!(image, Image::Urn(urn) if !urn.skips_agreement)
}

fn nic_of(facts: NicFacts, id: &ResourceId, vm: &ResourceId) -> Parts<Nic> {
    match facts.state {
        Provisioning::Succeeded => {
            let is_attached = facts.vm.as_deref().is_some_and(|other| vm.is(other));
            Parts::Ready(Nic { address: facts.address, is_attached })
        }
        Provisioning::Creating
        | Provisioning::Updating
        | Provisioning::Failed
        | Provisioning::Deleting
        | Provisioning::Other => waiting(id, "is not ready yet"),
    }
}

fn waiting<T>(id: &ResourceId, what: &str) -> Parts<T> {
    let kind = if id.kind == Kind::Nic { "network interface" } else { "disk" };
    Parts::Waiting { ask_again_ms: PART_MS, message: format!("the {kind} {} {what}", id.name) }
}

/// The failure of a part that has the machine's name and is not the machine's.
pub(crate) fn foreign(known: &Known<'_>, id: &ResourceId, tags: &Tags) -> Option<Failure> {
    let vm_name = known.id.as_ref().map_or(known.marks.name, |id| id.name.as_str());
    let (why, advice) = match known.whose(tags, vm_name) {
        Whose::Own => return None,
        Whose::Neighbours => (
            "belongs to an earlier Machine of this cluster".to_owned(),
            "wait until that one is deleted, or delete this Machine".to_owned(),
        ),
        Whose::OfCluster { cluster, is_moved } => {
            let cluster = quoted(&cluster);
            let advice = if is_moved {
                format!("start the host with --cluster-id={cluster}")
            } else {
                "delete this Machine, or use another resource group".to_owned()
            };
            (format!("carries the mark of cluster {cluster}"), advice)
        }
        Whose::Unmarked { .. } => (
            "carries no mark of a cluster".to_owned(),
            "remove it if nobody needs it, or delete this Machine".to_owned(),
        ),
    };
    Some(Failure::new(
        Code::AlreadyExists,
        format!(
            "{} in the resource group {} {why}, and has the name that the VM needs: {advice}",
            id.name, id.group
        ),
    ))
}

fn no_image(urn: &Urn, location: &str) -> Failure {
    let Urn { publisher, offer, sku, version, .. } = urn;
    not_found(format!(
        "the image {publisher}:{offer}:{sku}:{version} does not exist in {location}: correct imageReference.urn in the \
         MachineClass's providerSpec"
    ))
}

fn no_agreement(plan: &Plan) -> Failure {
    not_found(format!(
        "the subscription has no agreement for the plan {} of {}: accept the image's terms in the marketplace, or set \
         imageReference.skipMarketplaceAgreement",
        plan.name, plan.product
    ))
}

/// MCM's provider answers "not found" too.
fn not_found(message: String) -> Failure {
    machinist_sdk::driver::not_found(message).terminal()
}
