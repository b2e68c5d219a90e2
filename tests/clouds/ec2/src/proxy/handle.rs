//! The way of one request.

use http::request::Parts;
use jiff::Timestamp;

use super::{Shared, describe, effects, launch, prefixes};
use crate::answer::{Answer, AwsError, Service};
use crate::form::Form;
use crate::moto::sts;
use crate::proxy::faults::Injection;
use crate::proxy::gate::{self, Caller, Rules};
use crate::proxy::journal::Entry;
use crate::proxy::ledger::State;
use crate::xml;

/// A request on its way.
pub(super) struct Request {
    pub(super) head: Parts,
    pub(super) body: Vec<u8>,
    pub(super) form: Form,
    pub(super) caller: Caller,
    pub(super) id: String,
}

impl Request {
    pub(super) fn action(&self) -> &str {
        self.form.get("Action").unwrap_or_default()
    }

    pub(super) fn error(&self, code: &str, message: impl Into<String>) -> Answer {
        Answer::error(&AwsError::new(code, message), Service::Ec2, &self.id)
    }

    /// As moto answers it, unchanged unless moto broke.
    pub(super) async fn forwarded(&self, shared: &Shared) -> Answer {
        self.forwarded_as(shared, self.body.clone()).await
    }

    /// As moto answers another body.
    pub(super) async fn forwarded_as(&self, shared: &Shared, body: Vec<u8>) -> Answer {
        match shared.moto.forward(&self.head, body).await {
            Ok((200, _, body)) => Answer::ok(body),
            // Moto says so in HTML, which the cloud never does.
            Ok((500.., _, _)) => self.error("InternalError", "An internal error has occurred"),
            Ok((status, _, body)) => {
                let code = error_code(&body).unwrap_or_else(|| format!("status {status}"));
                Answer::xml(status, &code, body)
            }
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "moto did not answer");
                self.error("InternalError", "An internal error has occurred")
            }
        }
    }
}

fn error_code(body: &[u8]) -> Option<String> {
    let document = roxmltree::Document::parse(std::str::from_utf8(body).ok()?).ok()?;
    let code = document.descendants().find(|node| node.tag_name().name() == "Code")?;
    Some(code.text()?.to_owned())
}

pub(super) async fn handle(shared: &Shared, head: Parts, body: Vec<u8>) -> Answer {
    let form = Form::parse(&body);
    let action = form.get("Action").unwrap_or_default().to_owned();
    let (now, id, admitted) = judge(shared, &head, &body, &action);
    let mut entry = Entry {
        at: now,
        action: action.clone(),
        account: String::new(),
        access_key_id: String::new(),
        region: String::new(),
        outcome: String::new(),
        parameters: form.fingerprint(),
        headers: head.headers.keys().map(ToString::to_string).collect(),
    };
    if let Some(token) = form.get("ClientToken") {
        entry.parameters.insert("ClientToken".to_owned(), token.to_owned());
    }
    let service = if action == sts::ASSUME { Service::Sts } else { Service::Ec2 };
    let answer = match admitted {
        Err(error) => Answer::error(&error, service, &id),
        Ok(caller) => {
            entry.account.clone_from(&caller.account);
            entry.access_key_id.clone_from(&caller.access_key_id);
            entry.region.clone_from(&caller.region);
            let Injection { delay, effect } =
                shared.faults.decide(&action, &[&caller.access_key_id, &caller.account]);
            tokio::time::sleep(delay).await;
            let request = Request { head, body, form, caller, id };
            match effect {
                None => work(shared, request, service).await,
                Some(effect) => effects::suffer(shared, request, service, effect).await,
            }
        }
    };
    entry.outcome.clone_from(&answer.outcome);
    shared.books().journal.write(entry);
    answer
}

/// Everything about a request that needs no waiting.
fn judge(
    shared: &Shared,
    head: &Parts,
    body: &[u8],
    action: &str,
) -> (Timestamp, String, Result<Caller, AwsError>) {
    let mut books = shared.books();
    let (now, id) = (books.now(), books.next_request_id());
    let admitted = if head.method != http::Method::POST {
        Err(AwsError::new("UnsupportedProtocol", "this server understands POST only"))
    } else if action == sts::ASSUME {
        Ok(Caller { account: String::new(), access_key_id: String::new(), region: String::new() })
    } else {
        let rules =
            Rules { accounts: &books.accounts, regions: &shared.regions, now, tolerance: shared.tolerance };
        gate::admit(head, body, "ec2", rules)
    };
    (now, id, admitted)
}

/// Does what is asked for.
pub(super) async fn work(shared: &Shared, request: Request, service: Service) -> Answer {
    if service == Service::Sts {
        let random = [rand::random(), rand::random(), rand::random()];
        let mut books = shared.books();
        let now = books.now();
        return match sts::assume_role(&request.form, &mut books.accounts, now, random, &request.id) {
            Ok(body) => Answer::ok(body),
            Err(error) => Answer::error(&error, service, &request.id),
        };
    }
    if let Some(id) = request.form.list("InstanceId").into_iter().find(|id| !is_instance_id(id)) {
        return request.error("InvalidInstanceID.Malformed", format!("Invalid id: \"{id}\""));
    }
    match request.action() {
        "RunInstances" => launch::run_instances(shared, &request).await,
        "TerminateInstances" => terminate(shared, &request).await,
        "DescribeInstances" => describe::instances(shared, &request).await,
        "DescribeInstanceStatus" | "DescribeInstanceAttribute" => describe::others(shared, &request).await,
        "AssignIpv6Addresses" => prefixes::assign(shared, &request).await,
        "ModifyNetworkInterfaceAttribute" => modify_interface(shared, &request).await,
        _ => request.forwarded(shared).await,
    }
}

/// `i-` and 8 or 17 hexadecimal digits.
fn is_instance_id(text: &str) -> bool {
    text.strip_prefix("i-").is_some_and(|digits| {
        matches!(digits.len(), 8 | 17) && digits.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
    })
}

async fn terminate(shared: &Shared, request: &Request) -> Answer {
    let answer = request.forwarded(shared).await;
    if !answer.is_ok() {
        return answer;
    }
    let Some(Ok(document)) = answer.text().map(roxmltree::Document::parse) else { return answer };
    let mut books = shared.books();
    let now = books.now();
    for item in xml::items(document.root_element(), "instancesSet") {
        let Some(id) = xml::text(item, &["instanceId"]) else { continue };
        let word = |name: &str| xml::text(item, &["previousState", name]).unwrap_or_default().to_owned();
        let was = State { code: word("code"), name: word("name") };
        // Of a change that changes nothing reads cannot be late.
        let is_change = was.name != "terminated";
        books.ledger.terminated(id, is_change.then_some(was), now);
    }
    drop(books);
    answer
}

async fn modify_interface(shared: &Shared, request: &Request) -> Answer {
    let answer = request.forwarded(shared).await;
    let check = request.form.get("SourceDestCheck.Value");
    let interface = request.form.get("NetworkInterfaceId");
    if let (true, Some(check), Some(interface)) = (answer.is_ok(), check, interface) {
        let mut books = shared.books();
        let now = books.now();
        books.ledger.check_changed(interface, check != "true", now);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_id_has_the_shape_of_one() {
        assert!(is_instance_id("i-0123456789abcdef0") && is_instance_id("i-01234567"));
        assert!(!is_instance_id("i-0123") && !is_instance_id("bogus") && !is_instance_id("i-0123456G"));
    }
}
