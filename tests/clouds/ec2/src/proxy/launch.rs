//! `RunInstances`: one instance for a ClientToken, and the refusals that moto lacks.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roxmltree::Document;

use super::Shared;
use super::handle::Request;
use crate::answer::{Answer, AwsError};
use crate::proxy::ledger::{Birth, UID_TAG};
use crate::xml::{self, Edits, child, instances, items, text};

const TOKEN_BYTES: usize = 64;
/// The most user data, before it is encoded.
const USER_DATA_BYTES: usize = 16 * 1024;

/// Moto's own word for an instance type that does not exist.
const UNKNOWN_TYPE: &str = "InvalidInstanceType.NotFound";

/// A RunInstances that made instances.
#[derive(Debug)]
pub(crate) struct Launch {
    parameters: BTreeMap<String, String>,
    answer: String,
}

/// Makes an instance, or answers with the one of its token.
pub(super) async fn run_instances(shared: &Shared, request: &Request) -> Answer {
    if let Err(error) = check_parameters(request) {
        return request.error(&error.code, error.message);
    }
    let Some(token) = request.form.get("ClientToken") else {
        return launch(shared, request, None).await;
    };
    let key = [request.caller.account.clone(), request.caller.region.clone(), token.to_owned()];
    let slot = {
        let mut launches = shared.launches.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(launches.entry(key).or_default())
    };
    // Two requests with one token at the same time: the second waits for the first, and gets its instance. This lock is
    // of one token only, and made to be held across a call.
    let mut slot = slot.lock().await;
    if let Some(earlier) = &*slot {
        return replay(shared, request, earlier).await;
    }
    let answer = launch(shared, request, Some(token)).await;
    if let (true, Some(text)) = (answer.is_ok(), answer.text()) {
        *slot = Some(Launch { parameters: request.form.fingerprint(), answer: text.to_owned() });
    }
    answer
}

fn check_parameters(request: &Request) -> Result<(), AwsError> {
    let form = &request.form;
    if form.get("ClientToken").is_some_and(|token| token.len() > TOKEN_BYTES || !token.is_ascii()) {
        return Err(AwsError::new(
            "InvalidParameterValue",
            "The client token is not of at most 64 ASCII characters",
        ));
    }
    let decoded = form.get("UserData").and_then(|data| STANDARD.decode(data).ok());
    if decoded.is_some_and(|data| data.len() > USER_DATA_BYTES) {
        return Err(AwsError::new("InvalidParameterValue", "User data is limited to 16384 bytes"));
    }
    Ok(())
}

async fn launch(shared: &Shared, request: &Request, token: Option<&str>) -> Answer {
    if let Some(refusal) = unknown_image(shared, request).await {
        return refusal;
    }
    if let Some(refusal) = exhausted_subnet(shared, request).await {
        return refusal;
    }
    let answer = request.forwarded(shared).await;
    if answer.outcome == UNKNOWN_TYPE {
        let kind = request.form.get("InstanceType").unwrap_or_default();
        return request.error("InvalidParameterValue", format!("Invalid value '{kind}' for InstanceType."));
    }
    // Others may have taken the last addresses meanwhile, over which moto breaks.
    if answer.outcome == "InternalError"
        && let Some(refusal) = exhausted_subnet(shared, request).await
    {
        return refusal;
    }
    let Some(Ok(document)) = answer.text().filter(|_| answer.is_ok()).map(Document::parse) else {
        return answer;
    };
    let uid = request.form.instance_tags().remove(UID_TAG);
    let mut books = shared.books();
    let now = books.now();
    for item in instances(document.root_element()) {
        if let Some(id) = text(item, &["instanceId"]) {
            let birth = Birth { id: id.to_owned(), token: token.map(str::to_owned), uid: uid.clone() };
            books.ledger.born(birth, now);
        }
    }
    drop(books);
    answer
}

/// Moto makes instances of images that do not exist.
async fn unknown_image(shared: &Shared, request: &Request) -> Option<Answer> {
    let image = request.form.get("ImageId")?;
    let region = request.caller.region.as_str();
    let key = (region.to_owned(), image.to_owned());
    if shared.images.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
        return None;
    }
    let (status, text) = shared.moto.ask(region, "DescribeImages", &[("ImageId.1", image)]).await.ok()?;
    if status == 200 {
        shared.images.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
        return None;
    }
    let code = if text.contains("InvalidAMIID.Malformed") { "Malformed" } else { "NotFound" };
    let message = match code {
        "Malformed" => format!("Invalid id: \"{image}\" (expecting \"ami-...\")"),
        _ => format!("The image id '[{image}]' does not exist"),
    };
    Some(request.error(&format!("InvalidAMIID.{code}"), message))
}

/// Moto gives an address to an instance although interfaces have taken them all, and breaks when instances have.
async fn exhausted_subnet(shared: &Shared, request: &Request) -> Option<Answer> {
    let form = &request.form;
    let subnet = form.get("NetworkInterface.1.SubnetId").or_else(|| form.get("SubnetId"))?;
    let parameters = [("SubnetId.1", subnet)];
    let (_, text) = shared.moto.ask(&request.caller.region, "DescribeSubnets", &parameters).await.ok()?;
    let document = Document::parse(&text).ok()?;
    let found = items(document.root_element(), "subnetSet").next()?;
    let free: i64 = xml::text(found, &["availableIpAddressCount"])?.parse().ok()?;
    (free <= 0).then(|| {
        let message = format!(
            "There are not enough free addresses in subnet '{subnet}' to satisfy the requested number of instances."
        );
        request.error("InsufficientFreeAddressesInSubnet", message)
    })
}

/// The first answer, with the state that the instance is in.
async fn replay(shared: &Shared, request: &Request, earlier: &Launch) -> Answer {
    if earlier.parameters != request.form.fingerprint() {
        return request.error(
            "IdempotentParameterMismatch",
            "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
        );
    }
    let state = match state_of(shared, request, &earlier.answer).await {
        Some((_, name)) if name == "terminated" || name == "shutting-down" => {
            return request.error(
                "IdempotentInstanceTerminated",
                "The request cannot be completed because the instance that this client token made is terminated.",
            );
        }
        Some(state) => state,
        None => return request.error("InternalError", "An internal error has occurred"),
    };
    shared.books().ledger.replayed();
    Answer::ok(with_state(&earlier.answer, &state).unwrap_or_else(|| earlier.answer.clone()))
}

/// Code and name of the state of the first instance.
async fn state_of(shared: &Shared, request: &Request, answer: &str) -> Option<(String, String)> {
    let id = {
        let document = Document::parse(answer).ok()?;
        text(*instances(document.root_element()).first()?, &["instanceId"])?.to_owned()
    };
    let parameters = [("InstanceId.1", id.as_str())];
    let (_, text) = shared.moto.ask(&request.caller.region, "DescribeInstances", &parameters).await.ok()?;
    let document = Document::parse(&text).ok()?;
    let instance = *instances(document.root_element()).first()?;
    let word = |name: &str| Some(xml::text(instance, &["instanceState", name])?.to_owned());
    Some((word("code")?, word("name")?))
}

fn with_state(answer: &str, (code, name): &(String, String)) -> Option<String> {
    let document = Document::parse(answer).ok()?;
    let mut edits = Edits::default();
    for instance in instances(document.root_element()) {
        edits.replace(
            child(instance, "instanceState")?,
            format!("<instanceState><code>{code}</code><name>{name}</name></instanceState>"),
        );
    }
    Some(edits.apply(answer))
}
