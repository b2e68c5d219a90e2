//! One request about an Event, in the words of either API group.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event as CoreEvent, EventSource, ObjectReference};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_core::events::dialect::Dialect;
use machinist_core::machine::Severity;
use serde_json::json;

use crate::client::field_manager::FIELD_MANAGER;

use super::{About, REPORTER};

/// An Event that waits to be written.
#[derive(Debug)]
pub(super) enum EventRequest {
    /// An Event.
    New(Box<NewEvent>),
    /// An Event that is there has happened again.
    Count { namespace: String, name: String, count: i32, at: Timestamp },
}

/// An Event.
#[derive(Debug)]
pub(super) struct NewEvent {
    pub(super) name: String,
    pub(super) about: About,
    pub(super) reason: String,
    pub(super) note: String,
    pub(super) severity: Severity,
    pub(super) at: Timestamp,
    pub(super) instance: String,
}

/// Sends the request.
pub(super) async fn write(client: &Client, dialect: Dialect, request: &EventRequest) -> kube::Result<()> {
    let post = PostParams::default();
    match (request, dialect) {
        (EventRequest::New(event), Dialect::Events) => {
            let api: Api<Event> = Api::namespaced(client.clone(), &event.about.namespace);
            api.create(&post, &event.event()).await?;
        }
        (EventRequest::New(event), Dialect::Core) => {
            let api: Api<CoreEvent> = Api::namespaced(client.clone(), &event.about.namespace);
            api.create(&post, &event.core_event()).await?;
        }
        (EventRequest::Count { namespace, name, count, at }, Dialect::Events) => {
            let api: Api<Event> = Api::namespaced(client.clone(), namespace);
            let series = json!({ "series": { "count": count, "lastObservedTime": MicroTime(*at) } });
            api.patch(name, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(series)).await?;
        }
        (EventRequest::Count { namespace, name, count, at }, Dialect::Core) => {
            let api: Api<CoreEvent> = Api::namespaced(client.clone(), namespace);
            let series = json!({
                "series": { "count": count, "lastObservedTime": MicroTime(*at) },
                "count": count,
                "lastTimestamp": machinist_api::value::time(*at),
            });
            api.patch(name, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(series)).await?;
        }
    }
    Ok(())
}

impl NewEvent {
    fn event(&self) -> Event {
        Event {
            metadata: self.metadata(),
            action: Some(self.reason.clone()),
            event_time: Some(MicroTime(self.at)),
            note: Some(self.note.clone()),
            reason: Some(self.reason.clone()),
            regarding: Some(self.regarding()),
            reporting_controller: Some(REPORTER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            type_: Some(self.kind().to_owned()),
            ..Event::default()
        }
    }

    /// With the fields that readers of the core group look at, beside those that its newer form asks for.
    fn core_event(&self) -> CoreEvent {
        let time: Time = machinist_api::value::time(self.at);
        CoreEvent {
            metadata: self.metadata(),
            action: Some(self.reason.clone()),
            count: Some(1),
            event_time: Some(MicroTime(self.at)),
            first_timestamp: Some(time.clone()),
            last_timestamp: Some(time),
            involved_object: self.regarding(),
            message: Some(self.note.clone()),
            reason: Some(self.reason.clone()),
            reporting_component: Some(REPORTER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            source: Some(EventSource { component: Some(REPORTER.to_owned()), ..EventSource::default() }),
            type_: Some(self.kind().to_owned()),
            ..CoreEvent::default()
        }
    }

    fn metadata(&self) -> ObjectMeta {
        ObjectMeta {
            name: Some(self.name.clone()),
            namespace: Some(self.about.namespace.clone()),
            ..ObjectMeta::default()
        }
    }

    fn regarding(&self) -> ObjectReference {
        let About { api_version, kind, namespace, name, uid } = self.about.clone();
        ObjectReference {
            api_version: Some(api_version),
            kind: Some(kind),
            name: Some(name),
            namespace: Some(namespace),
            uid: Some(uid),
            ..ObjectReference::default()
        }
    }

    fn kind(&self) -> &'static str {
        match self.severity {
            Severity::Normal => "Normal",
            Severity::Warning => "Warning",
        }
    }
}
