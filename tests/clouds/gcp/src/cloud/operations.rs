//! Operations that take time and fail, and request ids.

use serde_json::{Value, json};

use super::{Cloud, Key, ROOT, timestamp};
use crate::discovery::{Call, full_match};
use crate::wire::ApiError;

/// The effect of an operation at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Insert(Key),
    Delete(Key),
    DeleteDisk(Key),
    /// The change has been made at the begin.
    Change,
    Stop(Key),
}

#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) key: Key,
    kind: &'static str,
    id: u64,
    target: String,
    target_id: u64,
    pub(crate) work: Work,
    begin_ms: u64,
    end_ms: u64,
    pub(crate) is_done: bool,
    /// Code and message of the failure.
    pub(crate) error: Option<(String, String)>,
    client_id: Option<String>,
}

const UUID: &str = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";
const ZERO: &str = "00000000-0000-0000-0000-000000000000";

impl Operation {
    fn status(&self, now_ms: u64) -> &'static str {
        if self.is_done {
            "DONE"
        } else if self.has_begun(now_ms) {
            "RUNNING"
        } else {
            "PENDING"
        }
    }

    /// Whether Google works on it: orders find its instance.
    pub(crate) fn has_begun(&self, now_ms: u64) -> bool {
        self.is_done || now_ms >= self.begin_ms + (self.end_ms - self.begin_ms) / 4
    }

    /// Whether reads that lag show its effects.
    pub(crate) fn is_visible(&self, now_ms: u64, lag_ms: u64) -> bool {
        self.is_done || (self.has_begun(now_ms) && now_ms >= self.begin_ms + lag_ms)
    }

    pub(crate) fn resource(&self, cloud: &Cloud) -> Value {
        let (zone, name) = &self.key;
        let status = self.status(cloud.now_ms());
        let mut value = json!({
            "kind": "compute#operation",
            "id": self.id.to_string(),
            "name": name,
            "operationType": self.kind,
            "targetLink": self.target,
            "targetId": self.target_id.to_string(),
            "status": status,
            "progress": if self.is_done { 100 } else { 0 },
            "user": "machinist",
            "insertTime": timestamp(self.begin_ms),
            "startTime": timestamp(self.begin_ms),
            "zone": format!("{ROOT}projects/{}/zones/{zone}", cloud.config.project),
            "selfLink": cloud.url(zone, "operations", name),
        });
        if let Some(id) = &self.client_id {
            value["clientOperationId"] = json!(id);
        }
        if self.is_done {
            value["endTime"] = json!(timestamp(self.end_ms));
            if let Some((code, message)) = &self.error {
                value["error"] = json!({ "errors": [{ "code": code, "message": message }] });
                value["httpErrorStatusCode"] = json!(http_status(code));
                value["httpErrorMessage"] = json!(http_text(code));
            }
        }
        value
    }
}

fn http_status(code: &str) -> u16 {
    match code {
        "QUOTA_EXCEEDED" | "PERMISSIONS_ERROR" => 403,
        "RESOURCE_NOT_FOUND" => 404,
        "RESOURCE_ALREADY_EXISTS" => 409,
        "INTERNAL_ERROR" => 500,
        code if code.contains("EXHAUSTED") => 503,
        _ => 400,
    }
}

fn http_text(code: &str) -> &'static str {
    match http_status(code) {
        403 => "FORBIDDEN",
        404 => "NOT FOUND",
        409 => "CONFLICT",
        500 => "INTERNAL SERVER ERROR",
        503 => "SERVICE UNAVAILABLE",
        _ => "BAD REQUEST",
    }
}

impl Cloud {
    /// Returns the operation of an earlier request with this id. The error refuses the id, or another request under it.
    pub(super) fn repeated(&mut self, call: &Call<'_>, body: &Value) -> Result<Option<Value>, ApiError> {
        let Some(id) = call.parameters.get("requestId") else { return Ok(None) };
        let invalid =
            |what: &str| ApiError::invalid(format!("Invalid value for field 'requestId': '{id}'. {what}"));
        if !full_match(UUID, id) {
            return Err(invalid("The request ID must be a valid UUID."));
        }
        if id == ZERO {
            return Err(invalid("The zero UUID is not supported."));
        }
        let Some((asked, key)) = self.request_ids.get(id) else { return Ok(None) };
        let known = self
            .operations
            .get(key)
            .filter(|known| self.now_ms() < known.begin_ms + self.config.request_id_ms);
        let Some(known) = known else {
            self.request_ids.remove(id);
            return Ok(None);
        };
        if *asked != question(call, body) {
            return Err(invalid("The request ID was used for another request."));
        }
        Ok(Some(known.resource(self)))
    }

    pub(super) fn begin(
        &mut self,
        call: &Call<'_>,
        body: &Value,
        work: Work,
        target: (&str, &str, u64),
    ) -> Value {
        let (kind, name, target_id) = target;
        let zone = call.parameters["zone"].clone();
        let id = self.number();
        let key = (zone.clone(), format!("operation-{}-{:05x}", self.now_ms(), id % 1_000_000));
        let operation = Operation {
            key: key.clone(),
            kind: match &work {
                Work::Insert(_) => "insert",
                Work::Delete(_) | Work::DeleteDisk(_) => "delete",
                Work::Stop(_) => "stop",
                Work::Change if call.id.ends_with("setLabels") => "setLabels",
                Work::Change => "reset",
            },
            id,
            target: self.url(&zone, kind, name),
            target_id,
            work,
            begin_ms: self.now_ms(),
            end_ms: self.now_ms() + self.config.operation_ms,
            is_done: false,
            error: None,
            client_id: call.parameters.get("requestId").cloned(),
        };
        if let Some(request_id) = call.parameters.get("requestId") {
            self.request_ids.insert(request_id.clone(), (question(call, body), key.clone()));
        }
        self.operations.insert(key.clone(), operation);
        self.finish_due();
        self.operations[&key].resource(self)
    }

    pub(super) fn fail(&mut self, key: &Key, code: &str, message: &str) {
        if let Some(operation) = self.operations.get_mut(key) {
            operation.error = Some((code.to_owned(), message.to_owned()));
        }
    }

    pub(super) fn finish_due(&mut self) {
        let now_ms = self.now_ms();
        let due: Vec<(u64, Key)> = self
            .operations
            .iter()
            .filter(|(_, operation)| !operation.is_done && now_ms >= operation.end_ms)
            .map(|(key, operation)| (operation.end_ms, key.clone()))
            .collect();
        let mut due = due;
        due.sort();
        for (_, key) in due {
            let Some(operation) = self.operations.get_mut(&key) else { continue };
            operation.is_done = true;
            let (work, has_failed) = (operation.work.clone(), operation.error.is_some());
            match work {
                Work::Insert(target) if has_failed => self.remove_instance(&target, true),
                Work::Insert(target) => self.set_status(&target, "RUNNING"),
                Work::Delete(target) if has_failed => {
                    self.set_status(&target, "RUNNING");
                    if let Some(instance) = self.instances.get_mut(&target) {
                        instance.delete = None;
                    }
                }
                Work::Delete(target) => self.remove_instance(&target, false),
                Work::DeleteDisk(target) if !has_failed => {
                    self.disks.remove(&target);
                }
                Work::Stop(target) => self.set_status(&target, "TERMINATED"),
                Work::Change | Work::DeleteDisk(_) => {}
            }
        }
        let running: Vec<Key> = self
            .operations
            .values()
            .filter(|operation| !operation.is_done && operation.has_begun(now_ms))
            .filter_map(|operation| match &operation.work {
                Work::Insert(target)
                    if now_ms >= operation.begin_ms + (operation.end_ms - operation.begin_ms) / 2 =>
                {
                    Some(target.clone())
                }
                _ => None,
            })
            .collect();
        for key in running {
            self.set_status(&key, "STAGING");
        }
    }
}

/// The request that belongs to an id, without the id itself.
fn question(call: &Call<'_>, body: &Value) -> Value {
    let parameters: Vec<_> =
        call.parameters.iter().filter(|(name, _)| *name != "requestId" && *name != "fields").collect();
    json!([call.id, parameters, body])
}
