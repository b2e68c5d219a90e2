//! Marks adopted instances. All else is part of the request that creates an instance.

use machinist_sdk::driver::{self as wit, Code, Failure, Request, not_found};
use serde_json::json;

use crate::instance::machine::{Machines, Outcome};
use crate::instance::marks::{Marks, lacks_marks};

impl Machines<'_> {
    /// Sets the labels of the driver on an instance that belongs to the Machine and lacks them. A second call finds
    /// nothing missing.
    pub(crate) fn initialize(&self, request: &Request) -> Outcome<wit::Vm> {
        if self.adopted.is_none() {
            return Err(Failure::new(
                Code::Unimplemented,
                "nothing to initialize: the driver creates instances complete, and the plugin's settings adopt none",
            ));
        }
        let marks = Marks::new(request, self.adopted);
        let found = self.locate(request, &marks)?;
        let mut instance = found.ok_or_else(|| {
            not_found(format!("Google has no instance of Machine {}", request.machine.name))
        })?;
        if lacks_marks(&instance) {
            for (key, value) in marks.own_labels() {
                instance.labels.insert(key.to_owned(), value.to_owned());
            }
            self.gce.set_labels(&instance, &json!(instance.labels))?;
            self.log.info("instance marked as the Machine's", &[("instance", &instance.name)]);
        }
        Ok(self.vm(&instance))
    }
}
