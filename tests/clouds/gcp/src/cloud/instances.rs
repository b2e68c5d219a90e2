//! The other methods of instances, and their disks.

use serde_json::{Value, json};

use super::insert::{check_labels, fingerprint};
use super::operations::Work;
use super::{Cloud, Instance, Key, Outcome};
use crate::discovery::Call;
use crate::wire::ApiError;

impl Cloud {
    /// Returns an instance that orders find, by name or id.
    pub(super) fn instance(&self, zone: &str, wanted: &str) -> Result<&Instance, ApiError> {
        let found = self.instances.iter().find(|((place, name), instance)| {
            place == zone && (name == wanted || instance.resource["id"] == wanted) && self.has_begun(instance)
        });
        found.map(|(_, instance)| instance).ok_or_else(|| self.absent(zone, "instances", wanted))
    }

    /// Returns an instance as reads show it, by name or id.
    pub(super) fn read_instance(&self, zone: &str, wanted: &str) -> Outcome {
        let instance = self.instance(zone, wanted)?;
        if !self.is_shown(instance) {
            return Err(self.absent(zone, "instances", wanted));
        }
        Ok(instance.resource.clone())
    }

    /// Orders find an instance from the begin of its creation on.
    fn has_begun(&self, instance: &Instance) -> bool {
        self.operations.get(&instance.insert).is_none_or(|operation| operation.has_begun(self.now_ms()))
    }

    /// Reads show an instance from the begin of its creation on, or later if they lag.
    pub(super) fn is_shown(&self, instance: &Instance) -> bool {
        let insert = self.operations.get(&instance.insert);
        insert.is_none_or(|operation| operation.is_visible(self.now_ms(), self.config.read_lag_ms))
    }

    fn key_of(&self, call: &Call<'_>) -> Result<(Key, u64), ApiError> {
        let instance = self.instance(&call.parameters["zone"], &call.parameters["instance"])?;
        let name = instance.resource["name"].as_str().unwrap_or_default().to_owned();
        let id = instance.resource["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default();
        Ok(((call.parameters["zone"].clone(), name), id))
    }

    pub(super) fn delete_instance(&mut self, call: &Call<'_>) -> Outcome {
        if let Some(known) = self.repeated(call, &Value::Null)? {
            return Ok(known);
        }
        let (key, id) = self.key_of(call)?;
        let instance = &self.instances[&key];
        if instance.resource["deletionProtection"] == true {
            return Err(ApiError::new(
                412,
                "conditionNotMet",
                format!(
                    "Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion. Resource: projects/{}/zones/{}/instances/{}'.",
                    self.config.project, key.0, key.1
                ),
            ));
        }
        self.check_ready(&key)?;
        if let Some(running) = instance
            .delete
            .as_ref()
            .and_then(|delete| self.operations.get(delete))
            .filter(|known| !known.is_done)
        {
            return Ok(running.resource(self));
        }
        self.set_status(&key, "STOPPING");
        let failure = self.failing.take();
        let answer = self.begin(call, &Value::Null, Work::Delete(key.clone()), ("instances", &key.1, id));
        let operation: Key = (key.0.clone(), answer["name"].as_str().unwrap_or_default().to_owned());
        if let Some((code, message)) = failure {
            self.fail(&operation, &code, &message);
        }
        if let Some(instance) = self.instances.get_mut(&key) {
            instance.delete = Some(operation);
        }
        Ok(answer)
    }

    /// Nothing can be done with an instance whose creation has not ended.
    fn check_ready(&self, key: &Key) -> Result<(), ApiError> {
        let insert = self.operations.get(&self.instances[key].insert);
        if insert.is_some_and(|operation| !operation.is_done) {
            let resource = format!("projects/{}/zones/{}/instances/{}", self.config.project, key.0, key.1);
            return Err(ApiError::new(
                400,
                "resourceNotReady",
                format!("The resource '{resource}' is not ready"),
            ));
        }
        Ok(())
    }

    pub(super) fn change_instance(&mut self, call: &Call<'_>, body: &Value) -> Outcome {
        if let Some(known) = self.repeated(call, body)? {
            return Ok(known);
        }
        let (key, id) = self.key_of(call)?;
        self.check_ready(&key)?;
        let work = match call.id {
            "instances.setLabels" => {
                let resource = &self.instances[&key].resource;
                if body["labelFingerprint"] != resource["labelFingerprint"] {
                    return Err(ApiError::new(
                        412,
                        "conditionNotMet",
                        "Labels fingerprint either invalid or resource labels have changed",
                    ));
                }
                check_labels(&body["labels"], "resource.labels")?;
                let labels = body["labels"].clone();
                if let Some(instance) = self.instances.get_mut(&key) {
                    instance.resource["labelFingerprint"] = json!(fingerprint(&labels));
                    instance.resource["labels"] = labels;
                }
                Work::Change
            }
            "instances.stop" => {
                self.set_status(&key, "STOPPING");
                Work::Stop(key.clone())
            }
            _ => {
                if self.instances[&key].resource["status"] != "RUNNING" {
                    return Err(ApiError::new(
                        400,
                        "resourceNotReady",
                        format!("The resource '{}' is not ready", key.1),
                    ));
                }
                if let Some(instance) = self.instances.get_mut(&key) {
                    instance.resets += 1;
                }
                Work::Change
            }
        };
        Ok(self.begin(call, body, work, ("instances", &key.1, id)))
    }

    pub(super) fn delete_disk(&mut self, call: &Call<'_>) -> Outcome {
        if let Some(known) = self.repeated(call, &Value::Null)? {
            return Ok(known);
        }
        let (zone, wanted) = (&call.parameters["zone"], &call.parameters["disk"]);
        let found = self
            .disks
            .iter()
            .find(|((place, name), disk)| place == zone && (name == wanted || disk["id"] == wanted.as_str()));
        let Some((key, disk)) = found else { return Err(self.absent(zone, "disks", wanted)) };
        if let Some(user) = disk["users"].as_array().and_then(|users| users.first()) {
            return Err(ApiError::new(
                400,
                "resourceInUseByAnotherResource",
                format!("The disk resource '{}' is already being used by {user}", key.1),
            ));
        }
        let (key, id) = (key.clone(), disk["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or_default());
        Ok(self.begin(call, &Value::Null, Work::DeleteDisk(key.clone()), ("disks", &key.1, id)))
    }

    pub(super) fn set_status(&mut self, key: &Key, status: &str) {
        if let Some(instance) = self.instances.get_mut(key) {
            instance.resource["status"] = json!(status);
        }
    }

    /// Removes an instance with the disks that go with it. A failed creation leaves no disk.
    pub(super) fn remove_instance(&mut self, key: &Key, with_all_disks: bool) {
        let Some(instance) = self.instances.remove(key) else { return };
        for (disk, goes_with_it) in instance.disks {
            if goes_with_it || with_all_disks {
                self.disks.remove(&disk);
            } else if let Some(disk) = self.disks.get_mut(&disk) {
                disk["users"] = json!([]);
            }
        }
    }
}
