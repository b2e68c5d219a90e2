//! The way of a request: fault, token, throttling, route.

use crate::arm;
use crate::cloud::Cloud;
use crate::faults::{Effect, throttled};
use crate::models;
use crate::tokens;
use crate::wire::{Request, Response, error};

/// The answer to a request, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Answer(Response),
    /// The connection ends without an answer.
    Lost,
}

impl Cloud {
    /// Lets the time pass: operations end.
    pub fn tick(&mut self, now_ms: u64) {
        self.finish(now_ms);
    }

    /// Answers a request at this time.
    pub fn handle(&mut self, request: &Request, now_ms: u64) -> Reply {
        self.finish(now_ms);
        let fault = self.faults.of(request);
        match fault {
            Some(Effect::LoseRequest) => return Reply::Lost,
            Some(Effect::Throttle { retry_after_s }) => return Reply::Answer(throttled(retry_after_s)),
            Some(Effect::Refuse { status, code, message }) => {
                return Reply::Answer(error(status, &code, &message));
            }
            _ => {}
        }
        let answer = self.answer(request, fault.as_ref(), now_ms);
        let answer =
            answer.with("x-ms-request-id", self.next("request")).with("x-ms-correlation-request-id", "tests");
        match fault {
            Some(Effect::LoseAnswer) => Reply::Lost,
            Some(Effect::DoneAnd500) => {
                Reply::Answer(error(500, "InternalServerError", "An error occurred."))
            }
            _ => Reply::Answer(answer),
        }
    }

    fn answer(&mut self, request: &Request, fault: Option<&Effect>, now_ms: u64) -> Response {
        let segments = request.segments();
        if let Some(answer) = tokens::answer(self, request, &segments, now_ms) {
            return answer;
        }
        if segments.first().is_some_and(|first| first == "admin") {
            return crate::admin::answer(self, request, &segments, now_ms);
        }
        if let Err(refused) = self.authenticate(request, now_ms) {
            return refused;
        }
        if let Err(refused) = self.admit(now_ms) {
            return refused;
        }
        if segments.first().is_some_and(|first| first.eq_ignore_ascii_case("subscriptions"))
            && segments.get(1) != Some(&self.options.subscription)
        {
            let named = segments.get(1).cloned().unwrap_or_default();
            let message = format!("The subscription '{named}' could not be found.");
            return error(404, "SubscriptionNotFound", &message);
        }
        let Some(operation) = models::operation(&request.method, &segments) else {
            return arm::other(self, request, &segments, now_ms);
        };
        *self.counts.entry(operation.name.clone()).or_default() += 1;
        if let Err(refused) = self.check(request, &operation) {
            return refused;
        }
        let call = arm::Call { request, operation: &operation, now_ms, fault };
        let answer = arm::answer(self, &call);
        arm::checked(answer, &operation)
    }

    fn authenticate(&self, request: &Request, now_ms: u64) -> Result<(), Response> {
        let Some(header) = request.header_value("authorization") else {
            let message = "Authentication failed. The 'Authorization' header is missing.";
            return Err(error(401, "AuthenticationFailed", message));
        };
        match self.tokens.is_valid(header.trim_start_matches("Bearer "), now_ms) {
            Some(true) => Ok(()),
            Some(false) => Err(error(
                401,
                "ExpiredAuthenticationToken",
                "The access token expiry UTC time is earlier than current UTC time.",
            )),
            None => Err(error(401, "InvalidAuthenticationToken", "The access token is invalid.")),
        }
    }

    fn admit(&mut self, now_ms: u64) -> Result<(), Response> {
        let Some(most) = self.options.requests_per_minute else { return Ok(()) };
        let minute = now_ms / 60_000;
        if self.window.0 != minute {
            self.window = (minute, 0);
        }
        self.window.1 += 1;
        if self.window.1 > most { Err(throttled(60 - (now_ms / 1_000) % 60)) } else { Ok(()) }
    }

    /// Version, parameters, right, body.
    fn check(&self, request: &Request, operation: &models::PublishedOperation) -> Result<(), Response> {
        match request.query_value("api-version") {
            None => {
                let message = "The api-version query parameter (?api-version=) is required for all requests.";
                return Err(error(400, "MissingApiVersionParameter", message));
            }
            Some(version) if version != operation.api_version => {
                let message = format!(
                    "The api-version '{version}' is invalid for {}. The supported version is '{}'.",
                    operation.name, operation.api_version
                );
                return Err(error(400, "InvalidApiVersionParameter", &message));
            }
            Some(_) => {}
        }
        if let Some((name, _)) = request.query.iter().find(|(name, _)| !operation.query.contains(name)) {
            return Err(error(
                400,
                "InvalidQueryParameter",
                &format!("The query parameter '{name}' is unknown."),
            ));
        }
        let conditional = ["If-Match", "If-None-Match"];
        let unusual = conditional.iter().find(|name| {
            request.header_value(name).is_some() && !operation.headers.iter().any(|known| known == *name)
        });
        if let Some(name) = unusual {
            return Err(error(400, "InvalidHeader", &format!("{} takes no header {name}.", operation.name)));
        }
        if let Some(right) = right(operation).filter(|right| self.options.denied.contains(right)) {
            return Err(unauthorized(&right));
        }
        let Some(model) = &operation.body else { return Ok(()) };
        if !request.header_value("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
            return Err(error(
                415,
                "UnsupportedMediaType",
                "The content media type is not supported. Only 'application/json' is.",
            ));
        }
        let found = models::problems(operation.family, model, &request.json()?);
        match found.first() {
            None => Ok(()),
            Some(first) => Err(error(400, "InvalidRequestContent", first)),
        }
    }
}

/// Azure's name of the right that an operation needs.
fn right(operation: &models::PublishedOperation) -> Option<String> {
    let (group, name) = operation.name.split_once('.')?;
    let kind = match group {
        "virtualMachines" | "disks" => format!("Microsoft.Compute/{group}"),
        "networkInterfaces" => format!("Microsoft.Network/{group}"),
        "subnets" => "Microsoft.Network/virtualNetworks/subnets".to_owned(),
        _ => return None,
    };
    let verb = match name {
        "createOrUpdate" | "update" | "updateTags" => "write",
        "delete" => "delete",
        "restart" => "restart/action",
        _ => "read",
    };
    Some(format!("{kind}/{verb}"))
}

fn unauthorized(right: &str) -> Response {
    let message = format!(
        "The client '22222222' with object id '33333333' does not have authorization to perform action '{right}' over scope \
         '/subscriptions/x' or the scope is invalid. If access was recently granted, please refresh your credentials."
    );
    error(403, "AuthorizationFailed", &message)
}
