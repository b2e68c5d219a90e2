//! What each call of the host does in EC2. Creation and what comes after it have modules of their own.

use machinist_sdk::driver::{self as wit, Class, Code, DriverError, Failure, Log, Request};

use crate::class::spec;
use crate::ec2::Ec2;
use crate::ec2::answer::Instance;
use crate::ec2::errors::error;
use crate::ec2::params::Filter;
use crate::ec2::pending::State;
use crate::instance::adoption::{self, TagKeys};
use crate::instance::initialize::Due;
use crate::instance::map;
use crate::instance::marks::{ClusterMarks, Marks, Whose};

pub(crate) type Outcome<T> = Result<T, Failure>;

/// Page tokens of a listing begin with the part of it that they belong to: what carries the cluster's name, then what
/// carries nobody's marks and the keys that the operator lets the cluster adopt.
const MARKED: &str = "m:";
const KEYED: &str = "k:";

/// EC2 of one region, what the operator lets the cluster adopt there, and a log.
#[derive(Clone, Copy)]
pub(crate) struct Machines<'a> {
    pub(crate) ec2: Ec2<'a>,
    pub(crate) adopted: Option<&'a TagKeys>,
    pub(crate) log: Log<'a>,
}

/// What a look by a provider id found.
pub(crate) enum Look {
    /// The machine's.
    Here(Box<Instance>),
    /// Its end has begun, and nothing stops it.
    Gone,
    /// Another Machine's of this cluster.
    Foreign,
    /// Reads do not know it: gone for long, or not shown yet.
    Unseen,
}

/// The region of a call: where the provider id says that the instance is, else where the last create went, else the
/// class's. A class that moves to another region leaves the instances that it made where they are.
pub(crate) fn region_of(request: &Request) -> Outcome<String> {
    let id = request.machine.provider_id.as_deref().and_then(map::parts);
    let by_id = id.and_then(|(region, _)| region).map(str::to_owned);
    let class = || spec::read_in_part(&request.class).usable_region().map(str::to_owned);
    let begun = || State::parse(request.machine.last_known_state.as_deref()).region;
    by_id.or_else(begun).or_else(class).ok_or_else(no_region)
}

/// The region of an instance that is to go, wherever the Machine's own one is.
pub(crate) fn region_of_id(request: &Request, provider_id: &str) -> Outcome<String> {
    let region = map::parts(provider_id).and_then(|(region, _)| region).map(str::to_owned);
    region.map_or_else(|| region_of(request), Ok)
}

/// The region of a create. One that has begun ends where it began.
pub(crate) fn region_of_create(request: &Request) -> Outcome<String> {
    let state = State::parse(request.machine.last_known_state.as_deref());
    match (state.instance, state.region) {
        (Some(_), Some(region)) => Ok(region),
        _ => Ok(spec::read(&request.class)?.0.region),
    }
}

/// The region of a listing.
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
    /// How the machine's instance is. Changes nothing.
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

    /// Starts the machine's instance anew.
    pub(crate) fn reboot(&self, request: &Request) -> Outcome<()> {
        let spec = spec::read_in_part(&request.class);
        let keys = spec.tag_keys();
        let marks = Marks::new(request, keys.as_ref(), self.adopted);
        let instance = self.locate(request, &marks)?.ok_or_else(|| not_found(request))?;
        if self.ec2.reboot(&instance.id)? { Ok(()) } else { Err(not_found(request)) }
    }

    /// By id, else by uid, else by name. An id that leads to another Machine's instance leads nowhere, and one that
    /// leads to an instance of another cluster or of nobody is refused. One whose end the cloud still shows is all
    /// there is to ask: a second instance of the machine is found by a deletion and by a listing.
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

    /// The machine's instances that exist: by uid; where there are none, by the Machine's name. An instance with the
    /// name and the uid and with another cluster's mark is this Machine's from before its control plane was moved, and
    /// one with the name and nobody's marks may be this Machine's from before another program was replaced: nobody may
    /// believe that there is none.
    pub(crate) fn find(&self, marks: &Marks<'_>) -> Outcome<Vec<Instance>> {
        let mut found = self.ec2.search(&marks.uid_filters())?;
        // The filter is the cloud's; what it lets slip is still not ours.
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

    /// Orders the end of every instance that carries the machine's marks, and of the one that its id leads to. Volumes and
    /// interfaces go with the instance, unless the class says otherwise. One refusal does not keep the others from being
    /// ordered.
    pub(crate) fn delete(&self, request: &Request) -> Outcome<()> {
        let spec = spec::read_in_part(&request.class);
        let keys = spec.tag_keys();
        let marks = Marks::new(request, keys.as_ref(), self.adopted);
        let found = self.find(&marks)?;
        let mut ids: Vec<String> = found.into_iter().map(|instance| instance.id).collect();
        if let Some(id) = known_id(request).filter(|id| !ids.contains(id)) {
            match self.look(&id, &marks)? {
                Look::Here(_) => ids.push(id),
                // Reads lag and orders do not. Only what this driver has noted is its own without a look.
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

    /// Orders the end of this instance and of no other.
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

    /// One page of the cluster's instances, and of those that the operator lets it adopt.
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

    /// What carries the cluster's name; then comes what only another program can have made.
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

    /// The filters are the cloud's; what it lets slip is still not ours.
    fn listed(&self, instances: &[Instance], are_on: impl Fn(&Instance) -> bool) -> Vec<wit::Listed> {
        let region = self.ec2.region();
        let ours = instances.iter().filter(|instance| instance.is_there() && are_on(instance));
        ours.map(|instance| map::listed(instance, &region)).collect()
    }

    pub(crate) fn vm(&self, instance: &Instance) -> wit::Vm {
        map::vm(instance, &self.ec2.region())
    }
}

/// The instance of the provider id, or of a create that the host has not stored yet.
pub(crate) fn known_id(request: &Request) -> Option<String> {
    let stored = request.machine.provider_id.as_deref().and_then(map::parts);
    stored.map(|(_, id)| id.to_owned()).or_else(|| launched_id(request))
}

/// The instance that this driver has launched for the machine, as it has noted itself. Unlike the provider id nobody
/// else writes it.
pub(crate) fn launched_id(request: &Request) -> Option<String> {
    State::parse(request.machine.last_known_state.as_deref()).instance
}

/// The only one.
pub(crate) fn only(instances: Vec<Instance>) -> Outcome<Option<Instance>> {
    if instances.len() > 1 {
        let mut ids: Vec<&str> = instances.iter().map(|instance| instance.id.as_str()).collect();
        ids.sort_unstable();
        let shown = ids.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        return Err(Failure::from(error(
            Code::OutOfRange,
            format!("{} instances carry this Machine's marks: {shown}; terminate all but one", ids.len()),
        )));
    }
    Ok(instances.into_iter().next())
}

/// Neither "there is none" nor "it is removed": the host waits, and says what to do.
pub(crate) fn of_another_cluster(instance: &Instance, cluster: &str) -> Failure {
    Failure::from(error(
        Code::FailedPrecondition,
        format!(
            "the instance {} carries the mark of cluster {cluster}, left alone: start the host with --cluster-id={cluster}",
            instance.id
        ),
    ))
}

/// As little: it may be the Machine's from before another program was replaced, or anybody's.
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
