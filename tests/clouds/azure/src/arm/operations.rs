//! The way of an operation: it begins with a request, and ends when its time has come.

use super::{Call, ending};
use crate::cloud::Cloud;
use crate::faults::Effect;
use crate::state::{Action, Key, Kind, Operation};

impl Cloud {
    /// Begins an operation, and returns the headers of its answer.
    pub(crate) fn begin(
        &mut self,
        call: &Call<'_>,
        key: &Key,
        action: Action,
        ms: u64,
    ) -> Vec<(String, String)> {
        let failure = match call.fault {
            Some(Effect::FailLater { code, message }) => Some((code.clone(), message.clone())),
            _ => None,
        };
        let id = self.next("operation");
        let done_ms = call.now_ms + ms;
        self.operations.push(Operation {
            id: id.clone(),
            done_ms,
            is_finished: false,
            key: key.clone(),
            action,
            failure,
        });
        let host = call.request.header_value("host").unwrap_or("management.azure.com");
        let scheme = call.request.header_value("x-forwarded-proto").unwrap_or("https");
        let namespace = key.kind.name().split('/').next().unwrap_or_default();
        let base = format!(
            "{scheme}://{host}/subscriptions/{}/providers/{namespace}/locations/{}",
            self.options.subscription, self.options.location
        );
        let version = &call.operation.api_version;
        let by_status = format!("{base}/operations/{id}?api-version={version}&p=tests");
        let by_location = format!("{base}/operationResults/{id}?api-version={version}&monitor=true");
        let is_delete = matches!(action, Action::Delete { .. });
        let mut headers = Vec::new();
        // Disks tell their deletions by Location alone; VMs and network interfaces by both.
        if !(is_delete && key.kind == Kind::Disk) {
            headers.push(("azure-asyncoperation".to_owned(), by_status));
        }
        if is_delete || action == Action::Restart {
            headers.push(("location".to_owned(), by_location));
        }
        if let Some(seconds) = self.options.retry_after_s {
            headers.push(("retry-after".to_owned(), seconds.to_string()));
        }
        self.finish(call.now_ms);
        headers
    }

    /// Ends the operations that are due.
    pub(crate) fn finish(&mut self, now_ms: u64) {
        let due: Vec<Operation> =
            self.operations.iter().filter(|op| !op.is_finished && op.done_ms <= now_ms).cloned().collect();
        for operation in due {
            self.remember(now_ms);
            ending::finish(self, &operation, now_ms);
            for known in &mut self.operations {
                if known.id == operation.id {
                    known.is_finished = true;
                }
            }
        }
    }
}
