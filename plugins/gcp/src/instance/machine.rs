//! Finds a Machine's instance: its state, reboot, removal of one of two.

use std::collections::BTreeSet;

use machinist_sdk::driver::{self as wit, Code, DriverError, Failure, Log, Request, not_found, quoted};

use crate::class::{spec, zone};
use crate::gce::Gce;
use crate::gce::answer::Instance;
use crate::gce::pending::Pending;
use crate::instance::adoption::{self, TagPair};
use crate::instance::map;
use crate::instance::marks::{Marks, Whose, lacks_marks};
use crate::names::{CLUSTER_LABEL, is_name};

pub(crate) type Outcome<T> = Result<T, Failure>;

/// Compute Engine of one project, the tags by which the cluster adopts there, and a log.
#[derive(Clone, Copy)]
pub(crate) struct Machines<'a> {
    pub(crate) gce: &'a Gce<'a>,
    pub(crate) adopted: Option<&'a TagPair>,
    pub(crate) log: Log<'a>,
}

/// The result of a look at one place.
pub(crate) enum Look {
    /// The machine's own instance.
    Here(Box<Instance>),
    /// It belongs to another Machine of this cluster.
    Neighbours,
    /// Google knows no such instance.
    Absent,
}

impl Machines<'_> {
    /// Returns the state of the machine's instance. Changes nothing.
    pub(crate) fn get_status(&self, request: &Request) -> Outcome<wit::Vm> {
        let marks = Marks::new(request, self.adopted);
        let instance = self.locate(request, &marks)?.ok_or_else(|| absent(request))?;
        if lacks_marks(&instance) {
            return Err(Failure::from(DriverError {
                provider_id: Some(map::provider_id(&self.gce.project, &instance.zone, &instance.name)),
                node_name: Some(instance.name.clone()),
                ..Failure::new(
                    Code::Uninitialized,
                    format!("the instance {} exists; due is to mark it as the Machine's", instance.name),
                )
                .into_record()
            }));
        }
        Ok(self.vm(&instance))
    }

    /// Restarts the machine's instance.
    pub(crate) fn reboot(&self, request: &Request) -> Outcome<()> {
        let marks = Marks::new(request, self.adopted);
        let instance = self.locate(request, &marks)?.ok_or_else(|| absent(request))?;
        match self.gce.reset(&instance.zone, instance.id)? {
            Some(_) => Ok(()),
            None => Err(absent(request)),
        }
    }

    /// Finds the instance by id, else by uid, else by name. An id that leads to another Machine's instance leads
    /// nowhere; one that leads to an instance of another cluster, or without marks, is refused. If Google knows no
    /// instance of the id, that is complete: a deletion and a listing find a second instance of the machine.
    pub(crate) fn locate(&self, request: &Request, marks: &Marks<'_>) -> Outcome<Option<Instance>> {
        if let Some(place) = request.machine.provider_id.as_deref().and_then(map::parts) {
            match self.look_by_id(place.zone, place.name, marks)? {
                Look::Here(instance) => return Ok(Some(*instance)),
                Look::Absent => return Ok(None),
                Look::Neighbours => {}
            }
        }
        only(self.find(request, marks)?)
    }

    /// Looks at the place that the provider id names.
    pub(crate) fn look_by_id(&self, zone: &str, name: &str, marks: &Marks<'_>) -> Outcome<Look> {
        let Some(instance) = self.gce.instance(zone, name)? else { return Ok(Look::Absent) };
        match marks.whose_by_id(&instance) {
            Whose::Own => Ok(Look::Here(Box::new(instance))),
            Whose::OfCluster(cluster) => Err(of_another_cluster(&instance, &cluster)),
            Whose::Unmarked => Err(of_nobody(&instance, marks)),
            Whose::Neighbours => {
                let line = "the machine's id leads to another Machine's instance, left alone";
                self.log.info(line, &[("instance", &instance.name)]);
                Ok(Look::Neighbours)
            }
        }
    }

    /// Returns the machine's instances: those with its uid in any zone of the project; if there are none, the one with
    /// its name in the zones where it may be. An instance with the uid and another cluster's mark belongs to this
    /// Machine from before its control plane was moved; one with the name, the class's tags and no marks may belong to
    /// it from before another program was replaced. In both cases the answer must not be that there is none.
    pub(crate) fn find(&self, request: &Request, marks: &Marks<'_>) -> Outcome<Vec<Instance>> {
        let mut found = self.gce.search(&marks.uid_filter())?;
        // Google filters; an instance that passes wrongly is still not ours.
        found.retain(|instance| marks.uid_is_on(instance));
        for instance in &found {
            match marks.whose(instance) {
                Whose::OfCluster(cluster) => return Err(of_another_cluster(instance, &cluster)),
                Whose::Unmarked => return Err(of_nobody(instance, marks)),
                Whose::Own | Whose::Neighbours => {}
            }
        }
        if !found.is_empty() || !is_name(marks.name) {
            return Ok(found);
        }
        let mut named = Vec::new();
        for zone in zones(request) {
            if let Some(instance) = self.by_name(request, &zone, marks)? {
                named.push(instance);
            }
        }
        Ok(named)
    }

    fn by_name(&self, request: &Request, zone: &str, marks: &Marks<'_>) -> Outcome<Option<Instance>> {
        let Some(instance) = self.gce.instance(zone, marks.name)? else { return Ok(None) };
        match marks.whose(&instance) {
            Whose::Own => Ok(Some(instance)),
            Whose::Unmarked if has_class_tags(request, &instance) => Err(of_nobody(&instance, marks)),
            // Another Machine of this name, or a stranger's instance.
            Whose::Unmarked | Whose::Neighbours | Whose::OfCluster(_) => Ok(None),
        }
    }

    /// Removes this instance and no other.
    pub(crate) fn delete_one(&self, request: &Request, provider_id: &str) -> Outcome<()> {
        let Some(place) = map::parts(provider_id) else {
            let message = format!("{:?} is no id of this driver", quoted(provider_id));
            return Err(Failure::new(Code::InvalidArgument, message));
        };
        if request.machine.provider_id.as_deref().and_then(map::parts) == Some(place) {
            let message =
                format!("the instance {} is the one that the Machine keeps, left alone", place.name);
            return Err(Failure::new(Code::FailedPrecondition, message));
        }
        if place.project != self.gce.project {
            let message = format!(
                "the instance is in project {}, and the Machine in {}",
                place.project, self.gce.project
            );
            return Err(Failure::new(Code::FailedPrecondition, message));
        }
        let marks = Marks::new(request, self.adopted);
        let Some(instance) = self.gce.instance(place.zone, place.name)? else { return Ok(()) };
        if !marks.cluster.are_on(&instance) {
            return Err(match marks.whose(&instance) {
                Whose::OfCluster(cluster) => of_another_cluster(&instance, &cluster),
                Whose::Own | Whose::Neighbours | Whose::Unmarked => of_nobody(&instance, &marks),
            });
        }
        protected(&instance)?;
        self.gce.delete(&instance.zone, instance.id)?;
        self.log
            .info("second instance ordered away", &[("instance", &instance.name), ("zone", &instance.zone)]);
        Ok(())
    }

    pub(crate) fn vm(&self, instance: &Instance) -> wit::Vm {
        map::vm(instance, &self.gce.project)
    }
}

/// Returns the project in which the machine's instance is: that of the provider id, else that of the last create. A
/// class that moves to another project leaves its instances where they are.
pub(crate) fn stored_project(request: &Request) -> Option<String> {
    let by_id = request.machine.provider_id.as_deref().and_then(map::parts);
    let by_state = || Pending::parse(request.machine.last_known_state.as_deref()).project;
    by_id.map(|place| place.project.to_owned()).or_else(by_state)
}

/// Returns the zones in which the machine's instance may be: that of the last create, then those of the class.
pub(crate) fn zones(request: &Request) -> Vec<String> {
    let spec = spec::read_in_part(&request.class);
    let begun = Pending::parse(request.machine.last_known_state.as_deref()).zone;
    let mut zones: Vec<String> = begun.into_iter().collect();
    for zone in zone::choices(&spec, &request.class.zones) {
        if !zone.is_empty() && !zones.contains(&zone) {
            zones.push(zone);
        }
    }
    zones
}

/// Whether an instance has the two network tags by which machine-controller-manager's provider knows this class's.
fn has_class_tags(request: &Request, instance: &Instance) -> bool {
    let spec = spec::read_in_part(&request.class);
    let has = |tag: &str| instance.tags.iter().any(|known| known == tag);
    spec.tag_pair().is_some_and(|(cluster, role)| has(cluster) && has(role))
}

/// Returns the only instance, or an error for several.
fn only(instances: Vec<Instance>) -> Outcome<Option<Instance>> {
    if instances.len() > 1 {
        let places: BTreeSet<String> =
            instances.iter().map(|instance| format!("{} in {}", instance.name, instance.zone)).collect();
        let shown: Vec<&str> = places.iter().take(5).map(String::as_str).collect();
        return Err(Failure::new(
            Code::OutOfRange,
            format!(
                "{} instances carry this Machine's marks: {}; remove all but one",
                instances.len(),
                shown.join(", ")
            ),
        ));
    }
    Ok(instances.into_iter().next())
}

/// Refuses to remove an instance that is protected, before anything is sent.
pub(crate) fn protected(instance: &Instance) -> Outcome<()> {
    if !instance.is_protected {
        return Ok(());
    }
    Err(Failure::new(
        Code::FailedPrecondition,
        format!(
            "failed to remove the instance: {} is protected against deletion: turn its deletion protection off in Google \
             (gcloud compute instances update {} --zone {} --no-deletion-protection)",
            instance.name, instance.name, instance.zone
        ),
    ))
}

/// Refuses an instance of another cluster: both "there is none" and "it is removed" would be wrong. The host waits, and
/// shows what to do.
pub(crate) fn of_another_cluster(instance: &Instance, cluster: &str) -> Failure {
    let cluster = quoted(cluster);
    Failure::new(
        Code::FailedPrecondition,
        format!(
            "the instance {} carries the mark of cluster {cluster}, left alone: start the host with --cluster-id={cluster}",
            instance.name
        ),
    )
}

/// Refuses an instance without marks: it may be the Machine's from before another program was replaced, or anybody's.
pub(crate) fn of_nobody(instance: &Instance, marks: &Marks<'_>) -> Failure {
    let lacks = if instance.label(CLUSTER_LABEL).is_none() { "no mark" } else { "another Machine's mark" };
    let advice = adoption::advice(marks.cluster.cluster);
    Failure::new(
        Code::FailedPrecondition,
        format!(
            "the instance {} carries {lacks} of this cluster, left alone: if machine-controller-manager created it for \
             this Machine, write {advice} into the plugin's settings, with the instance's own two tags; otherwise remove \
             it, or delete the Machine",
            instance.name
        ),
    )
}

fn absent(request: &Request) -> Failure {
    not_found(format!("Google has no instance of Machine {}", request.machine.name))
}
