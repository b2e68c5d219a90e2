//! The work of each call in EC2. `create` and `initialize` have modules of their own.

use std::collections::BTreeSet;

use machinist_sdk::driver::{self as wit, Class, Code, DriverError, Failure, Log, Request};

use crate::class::spec;
use crate::ec2::Ec2;
use crate::ec2::answer::Instance;
use crate::ec2::errors::error;
use crate::ec2::params::Filter;
use crate::ec2::pending::PendingCreate;
use crate::instance::adoption;
use crate::instance::initialize::Due;
use crate::instance::map;
use crate::instance::marks::{ClusterMarks, Marks, Whose};
use crate::tags::TagKeys;

pub(crate) type Outcome<T> = Result<T, Failure>;

/// Page tokens of a listing begin with the part to which they belong: first instances with the cluster's mark, then
/// instances without marks and with the keys by which the cluster adopts.
const MARKED: &str = "m:";
const KEYED: &str = "k:";

/// EC2 of one region, the keys by which the cluster adopts there, and a log.
#[derive(Clone, Copy)]
pub(crate) struct Machines<'a> {
    pub(crate) ec2: Ec2<'a>,
    pub(crate) adopted: Option<&'a TagKeys>,
    pub(crate) log: Log<'a>,
}

/// The result of a search by a provider id.
pub(crate) enum Look {
    /// The machine's own instance.
    Here(Box<Instance>),
    /// Its termination has begun, which nothing reverts.
    Gone,
    /// It belongs to another Machine of this cluster.
    Foreign,
    /// Reads do not show it: gone for long, or not shown yet.
    Unseen,
}

/// Returns the region of a call: that of the provider id, else that of the last create, else the class's. A class that
/// moves to another region leaves its instances where they are.
pub(crate) fn region_of(request: &Request) -> Outcome<String> {
    let id = request.machine.provider_id.as_deref().and_then(map::parts);
    let by_id = id.and_then(|(region, _)| region).map(str::to_owned);
    let class = || spec::read_in_part(&request.class).usable_region().map(str::to_owned);
    let begun = || PendingCreate::parse(request.machine.last_known_state.as_deref()).region;
    by_id.or_else(begun).or_else(class).ok_or_else(no_region)
}

/// Returns the region of an instance to delete, which may differ from that of the Machine's own.
pub(crate) fn region_of_id(request: &Request, provider_id: &str) -> Outcome<String> {
    let region = map::parts(provider_id).and_then(|(region, _)| region).map(str::to_owned);
    region.map_or_else(|| region_of(request), Ok)
}

/// Returns the region of a create. A create stays in the region in which it began.
pub(crate) fn region_of_create(request: &Request) -> Outcome<String> {
    let state = PendingCreate::parse(request.machine.last_known_state.as_deref());
    match (state.instance, state.region) {
        (Some(_), Some(region)) => Ok(region),
        _ => Ok(spec::read(&request.class)?.0.region),
    }
}

/// Returns the region of a listing.
pub(crate) fn region_of_class(class: &Class) -> Outcome<String> {
    spec::read_in_part(class).usable_region().map(str::to_owned).ok_or_else(no_region)
}

fn no_region() -> Failure {
    Failure::from(DriverError {
        terminal: true,
        ..error(
            Code::InvalidArgument,
            "the MachineClass's providerSpec is invalid: region is missing, or not of lower-case letters, digits and hyphens",
        )
    })
}

impl Machines<'_> {
    /// Returns the state of the machine's instance. Changes nothing.
    pub(crate) fn get_status(&self, request: &Request) -> Outcome<wit::Vm> {
        let spec = spec::read_in_part(&request.class);
        let keys = spec.tag_keys();
        let marks = Marks::new(request, keys.as_ref(), self.adopted);
        let instance = self.locate(request, &marks)?.ok_or_else(|| not_found(request))?;
        let due = Due::of(&spec, &instance);
        if due.is_nothing() {
            return Ok(self.vm(&instance));
        }
        Err(Failure::from(DriverError {
            provider_id: Some(map::provider_id(&self.ec2.region(), &instance.id)),
            node_name: Some(instance.node_name.clone()),
            ..error(Code::Uninitialized, format!("the instance {} is launched; due is to {due}", instance.id))
        }))
    }

    /// Reboots the machine's instance.
    pub(crate) fn reboot(&self, request: &Request) -> Outcome<()> {
        let spec = spec::read_in_part(&request.class);
        let keys = spec.tag_keys();
        let marks = Marks::new(request, keys.as_ref(), self.adopted);
        let instance = self.locate(request, &marks)?.ok_or_else(|| not_found(request))?;
        if self.ec2.reboot(&instance.id)? { Ok(()) } else { Err(not_found(request)) }
    }

    /// Finds the instance by id, else by uid, else by name. An id that leads to another Machine's instance leads
    /// nowhere; one that leads to an instance of another cluster, or without marks, is refused. An instance that the
    /// cloud still shows as ended is a complete answer: a deletion and a listing find a second instance of the machine.
    pub(crate) fn locate(&self, request: &Request, marks: &Marks<'_>) -> Outcome<Option<Instance>> {
        if let Some(id) = known_id(request) {
            match self.look(&id, marks)? {
                Look::Here(instance) => return Ok(Some(*instance)),
                Look::Gone => return Ok(None),
                Look::Foreign | Look::Unseen => {}
            }
        }
        only(self.find(marks)?)
    }

    pub(crate) fn look(&self, id: &str, marks: &Marks<'_>) -> Outcome<Look> {
        Ok(match self.ec2.instance(id)? {
            None => Look::Unseen,
            Some(instance) if !instance.is_there() => Look::Gone,
            Some(instance) => match marks.whose(&instance) {
                Whose::Own => Look::Here(Box::new(instance)),
                Whose::OfCluster(cluster) => return Err(of_another_cluster(&instance, cluster)),
                Whose::Unmarked => return Err(of_nobody(&instance, marks)),
                Whose::Neighbours => {
                    let line = "the machine's id leads to another Machine's instance, left alone";
                    self.log.info(line, &[("instance", &instance.id)]);
                    Look::Foreign
                }
            },
        })
    }

    /// Returns the machine's instances that exist: by uid; if there are none, by the Machine's name. An instance with
    /// the name, the uid and another cluster's mark belongs to this Machine from before its control plane was moved.
    /// One with the name and without marks may belong to it from before another program was replaced. In both cases the
    /// answer must not be that there is none.
    pub(crate) fn find(&self, marks: &Marks<'_>) -> Outcome<Vec<Instance>> {
        let mut found = self.ec2.search(&marks.uid_filters())?;
        // The cloud filters; an instance that passes wrongly is still not ours.
        found.retain(|instance| instance.is_there() && marks.are_on(instance));
        for filters in marks.name_filters() {
            if found.is_empty() {
                found = self.by_name(&filters, marks)?;
            }
        }
        Ok(found)
    }

    fn by_name(&self, filters: &[Filter], marks: &Marks<'_>) -> Outcome<Vec<Instance>> {
        let mut named = self.ec2.search(filters)?;
        named.retain(Instance::is_there);
        let moved = |instance: &Instance| {
            let cluster = marks.other_cluster(instance).filter(|_| marks.uid_is_on(instance));
            cluster.map(|cluster| of_another_cluster(instance, cluster))
        };
        if let Some(refused) = named.iter().find_map(moved) {
            return Err(refused);
        }
        let (own, others): (Vec<Instance>, Vec<Instance>) =
            named.into_iter().partition(|instance| marks.own_by_name(instance));
        match others.iter().find(|instance| marks.may_be_on(instance)) {
            Some(instance) if own.is_empty() => Err(of_nobody(instance, marks)),
            Some(_) | None => Ok(own),
        }
    }

    /// Terminates every instance with the machine's marks, and the one to which its id leads. Volumes and interfaces
    /// are deleted with the instance, unless the class says otherwise. One refusal does not prevent the other orders.
    pub(crate) fn delete(&self, request: &Request) -> Outcome<()> {
        let spec = spec::read_in_part(&request.class);
        let keys = spec.tag_keys();
        let marks = Marks::new(request, keys.as_ref(), self.adopted);
        let found = self.find(&marks)?;
        let mut ids: Vec<String> = found.into_iter().map(|instance| instance.id).collect();
        if let Some(id) = known_id(request).filter(|id| !ids.contains(id)) {
            match self.look(&id, &marks)? {
                Look::Here(_) => ids.push(id),
                // Reads are stale, orders are not. Without a read, only an instance that this driver has noted is its
                // own.
                Look::Unseen if launched_id(request).as_ref() == Some(&id) => ids.push(id),
                Look::Gone | Look::Foreign | Look::Unseen => {}
            }
        }
        let mut refused = None;
        for id in &ids {
            match self.ec2.terminate(id) {
                Ok(()) => self.log.info("instance ordered away", &[("instance", id)]),
                Err(failed) => refused = refused.or(Some(failed)),
            }
        }
        refused.map_or(Ok(()), |failed| Err(failed.into()))
    }

    /// Terminates this instance and no other.
    pub(crate) fn delete_one(&self, request: &Request, provider_id: &str) -> Outcome<()> {
        let Some((_, id)) = map::parts(provider_id) else {
            let message = format!("{provider_id:?} is no id of this driver");
            return Err(Failure::from(error(Code::InvalidArgument, message)));
        };
        if known_id(request).is_some_and(|own| own == id) {
            let message = format!("the instance {id} is the one that the Machine keeps, left alone");
            return Err(Failure::from(error(Code::FailedPrecondition, message)));
        }
        let spec = spec::read_in_part(&request.class);
        let keys = spec.tag_keys();
        let marks = Marks::new(request, keys.as_ref(), self.adopted);
        match self.ec2.instance(id)?.filter(Instance::is_there) {
            None => Ok(()),
            Some(instance) if !marks.cluster.are_on(&instance) => Err(match marks.other_cluster(&instance) {
                Some(cluster) => of_another_cluster(&instance, cluster),
                None => of_nobody(&instance, &marks),
            }),
            Some(_) => {
                self.ec2.terminate(id)?;
                self.log.info("second instance ordered away", &[("instance", id)]);
                Ok(())
            }
        }
    }

    /// Returns one page of the cluster's instances, and of those that it adopts.
    pub(crate) fn list(&self, cluster: &str, token: Option<&str>) -> Outcome<wit::Page> {
        let marks = ClusterMarks { cluster, adopted: self.adopted };
        match token.map(|token| (token.strip_prefix(MARKED), token.strip_prefix(KEYED))) {
            None => self.marked(marks, None),
            Some((Some(token), _)) => self.marked(marks, Some(token)),
            Some((None, Some(token))) => self.keyed(marks, Some(token).filter(|token| !token.is_empty())),
            Some((None, None)) => Err(Failure::from(error(
                Code::InvalidArgument,
                "failed to list instances: the page token is not one of this driver's",
            ))),
        }
    }

    /// Lists instances with the cluster's mark; instances of another program follow.
    fn marked(&self, marks: ClusterMarks<'_>, token: Option<&str>) -> Outcome<wit::Page> {
        let page = self.ec2.page(&marks.filters(), token)?;
        let machines = self.listed(&page.instances, |instance| marks.are_on(instance));
        let next = page.next.map(|next| format!("{MARKED}{next}"));
        Ok(wit::Page { machines, next: next.or(marks.adopted.map(|_| KEYED.to_owned())) })
    }

    fn keyed(&self, marks: ClusterMarks<'_>, token: Option<&str>) -> Outcome<wit::Page> {
        // The settings may have changed between two pages.
        let Some(keys) = marks.adopted else { return Ok(wit::Page { machines: Vec::new(), next: None }) };
        let page = self.ec2.page(&ClusterMarks::key_filters(keys), token)?;
        let machines = self.listed(&page.instances, |instance| marks.adopt(instance));
        Ok(wit::Page { machines, next: page.next.map(|next| format!("{KEYED}{next}")) })
    }

    /// Converts a page. The cloud filters; an instance that passes wrongly is still not ours.
    fn listed(&self, instances: &[Instance], are_on: impl Fn(&Instance) -> bool) -> Vec<wit::Listed> {
        let region = self.ec2.region();
        let ours = instances.iter().filter(|instance| instance.is_there() && are_on(instance));
        ours.map(|instance| map::listed(instance, &region)).collect()
    }

    pub(crate) fn vm(&self, instance: &Instance) -> wit::Vm {
        map::vm(instance, &self.ec2.region())
    }
}

/// Returns the instance of the provider id, or of a create that the host has not stored yet.
pub(crate) fn known_id(request: &Request) -> Option<String> {
    let stored = request.machine.provider_id.as_deref().and_then(map::parts);
    stored.map(|(_, id)| id.to_owned()).or_else(|| launched_id(request))
}

/// Returns the instance that this driver has launched for the machine, by its own note. Unlike the provider id, nobody
/// else writes it.
pub(crate) fn launched_id(request: &Request) -> Option<String> {
    PendingCreate::parse(request.machine.last_known_state.as_deref()).instance
}

/// Returns the only instance, or an error for several.
pub(crate) fn only(instances: Vec<Instance>) -> Outcome<Option<Instance>> {
    if instances.len() > 1 {
        let mut ids = BTreeSet::new();
        ids.extend(instances.into_iter().map(|instance| instance.id));
        let shown = ids.iter().take(5).map(String::as_str).collect::<Vec<_>>().join(", ");
        return Err(Failure::from(error(
            Code::OutOfRange,
            format!("{} instances carry this Machine's marks: {shown}; terminate all but one", ids.len()),
        )));
    }
    Ok(instances.into_iter().next())
}

/// Refuses an instance of another cluster: both "there is none" and "it is removed" would be wrong. The host waits, and
/// shows what to do.
pub(crate) fn of_another_cluster(instance: &Instance, cluster: &str) -> Failure {
    Failure::from(error(
        Code::FailedPrecondition,
        format!(
            "the instance {} carries the mark of cluster {cluster}, left alone: start the host with --cluster-id={cluster}",
            instance.id
        ),
    ))
}

/// Refuses an instance without marks: it may be the Machine's from before another program was replaced, or anybody's.
pub(crate) fn of_nobody(instance: &Instance, marks: &Marks<'_>) -> Failure {
    let (id, cluster) = (&instance.id, marks.cluster.cluster);
    Failure::from(error(
        Code::FailedPrecondition,
        format!(
            "the instance {id} carries no mark that makes it this Machine's, left alone: if it is and another program made              it, adopt the cluster's instances by the plugin's settings.json: {}; else correct the Machine",
            adoption::advice(cluster)
        ),
    ))
}

pub(crate) fn not_found(request: &Request) -> Failure {
    let machine = &request.machine;
    let id = known_id(request).map(|id| format!(", and {id} is terminated or not shown")).unwrap_or_default();
    Failure::from(error(
        Code::NotFound,
        format!("there is no instance of Machine {} with uid {}{id}", machine.name, machine.uid),
    ))
}
