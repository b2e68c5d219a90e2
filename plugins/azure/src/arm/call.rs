//! One request to Azure: through the host, which authenticates it.

use machinist_sdk::driver::{
    Attempt, Code, Effect, Failure, HttpAnswer, HttpRequest, Limits, Method, NoAnswer, NoAnswerReason, auth,
};
use serde_json::Value;

use super::errors::{self, ArmError};
use super::operation::{self, Accepted};
use super::{Arm, ArmResult};

/// Azure answers a request within seconds; the work goes on after the answer. After this time no answer comes.
const ANSWER_MS: u64 = 60_000;

/// The header of an answer if the host could not authenticate the request, and did not send it.
const AUTH: &str = "machinist-auth";
const FAILED: &str = "failed";

/// A request, with the facts that its errors need.
pub(crate) struct Ask {
    pub(crate) doing: &'static str,
    pub(crate) effect: Effect,
    pub(crate) method: Method,
    path: String,
    /// Absent for operations, whose paths contain it.
    version: Option<&'static str>,
    body: Option<Value>,
    is_only_new: bool,
}

impl Ask {
    pub(crate) fn read(doing: &'static str, path: String, version: &'static str) -> Self {
        Self {
            doing,
            effect: Effect::Reads,
            method: Method::Get,
            path,
            version: Some(version),
            body: None,
            is_only_new: false,
        }
    }

    pub(crate) fn poll(doing: &'static str, path: String) -> Self {
        Self { version: None, ..Self::read(doing, path, "") }
    }

    pub(crate) fn change(doing: &'static str, method: Method, path: String, version: &'static str) -> Self {
        Self { effect: Effect::Changes, method, ..Self::read(doing, path, version) }
    }

    #[must_use]
    pub(crate) fn by(self, method: Method) -> Self {
        Self { method, ..self }
    }

    #[must_use]
    pub(crate) fn with(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }

    /// Azure refuses the request if the resource exists.
    #[must_use]
    pub(crate) fn only_new(self) -> Self {
        Self { is_only_new: true, ..self }
    }

    /// Returns Azure's name of the right that the request needs.
    pub(crate) fn right(&self) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        let mut kinds = path.split("/providers/").last().unwrap_or_default().split('/');
        let mut right = kinds.next().unwrap_or_default().to_owned();
        let mut is_kind = true;
        let parts: Vec<&str> = kinds.collect();
        for part in &parts {
            // Kinds and names alternate.
            if is_kind && *part != "restart" {
                right = format!("{right}/{part}");
            }
            is_kind = !is_kind;
        }
        let verb = match self.method {
            Method::Get | Method::Head => "read",
            Method::Put | Method::Patch => "write",
            Method::Delete => "delete",
            Method::Post if path.ends_with("/restart") => "restart/action",
            Method::Post => "read",
        };
        format!("{right}/{verb}")
    }
}

impl Arm<'_> {
    /// Sends it. After a 401 the host fetches another token, so it is worth one more request. Ok is a success in
    /// Azure's own form.
    pub(crate) fn send(&self, ask: &Ask) -> ArmResult<HttpAnswer> {
        let mut answer = self.exchange(ask)?;
        if answer.status == 401 && has_token(&answer) {
            answer = self.exchange(ask)?;
        }
        if !has_token(&answer) {
            return Err(errors::not_authenticated(ask, &answer));
        }
        if answer.is_success() && !answer.is_html() {
            return Ok(answer);
        }
        Err(errors::refused(ask, &answer, &self.endpoint))
    }

    /// Sends it, and parses the body of the success.
    pub(crate) fn value(&self, ask: &Ask) -> ArmResult<(Value, Accepted)> {
        let answer = self.send(ask)?;
        Ok((self.json(ask, &answer)?, operation::accepted(&answer)))
    }

    /// Sends it. The body of the success, if any, does not matter.
    pub(crate) fn accepted(&self, ask: &Ask) -> ArmResult<Accepted> {
        self.send(ask).map(|answer| operation::accepted(&answer))
    }

    pub(crate) fn json(&self, ask: &Ask, answer: &HttpAnswer) -> ArmResult<Value> {
        self.attempt(ask).json(answer).map_err(|failure| ArmError::of(failure, answer.status))
    }

    /// The answer is JSON of another shape.
    pub(crate) fn unusual(&self, ask: &Ask) -> Box<ArmError> {
        self.unexpected(ask, "lacks a field that its kind always has, or has it with another type")
    }

    pub(crate) fn unexpected(&self, ask: &Ask, what: &str) -> Box<ArmError> {
        let what = format!("{what}: if this lasts, look at what is between here and Azure");
        ArmError::of(self.attempt(ask).unexpected(&what), 200)
    }

    fn exchange(&self, ask: &Ask) -> ArmResult<HttpAnswer> {
        let limits = Limits { answer_ms: ANSWER_MS, ..Limits::default() };
        self.host.send_within(&self.request(ask), limits).map_err(|error| self.no_answer(ask, &error))
    }

    fn attempt<'b>(&'b self, ask: &'b Ask) -> Attempt<'b> {
        Attempt { doing: ask.doing, host: self.endpoint.host(), effect: ask.effect }
    }

    fn no_answer(&self, ask: &Ask, error: &NoAnswer) -> Box<ArmError> {
        let mut failure = self.attempt(ask).no_answer(error);
        if error.reason == NoAnswerReason::Denied {
            failure = Failure::new(
                Code::FailedPrecondition,
                format!(
                    "{}; for Azure the grants also name its token service, the scheme oauth2-client-credentials with \
                     the scope {}, and userData",
                    failure.message, self.endpoint.scope
                ),
            );
        }
        ArmError::of(failure, 0)
    }

    fn request(&self, ask: &Ask) -> HttpRequest {
        let mut url = format!("{}{}", self.endpoint.url, ask.path);
        if let Some(version) = ask.version {
            let sign = if url.contains('?') { '&' } else { '?' };
            url = format!("{url}{sign}api-version={version}");
        }
        let (mark, what) = auth::oauth2_client_credentials(&[self.endpoint.scope]);
        let mut request =
            HttpRequest::new(ask.method, url).header("accept", "application/json").header(mark, what);
        if ask.is_only_new {
            request = request.header("if-none-match", "*");
        }
        match &ask.body {
            Some(body) => request.json(body),
            None => request,
        }
    }
}

/// True if the host got a token, and sent the request.
fn has_token(answer: &HttpAnswer) -> bool {
    answer.header(AUTH) != Some(FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_needs_a_right_of_its_own() {
        let vm = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a";
        let change = |method, path: &str| Ask::change("x", method, path.to_owned(), "").right();
        assert_eq!(change(Method::Put, vm), "Microsoft.Compute/virtualMachines/write");
        assert_eq!(change(Method::Delete, vm), "Microsoft.Compute/virtualMachines/delete");
        let restart = format!("{vm}/restart");
        assert_eq!(change(Method::Post, &restart), "Microsoft.Compute/virtualMachines/restart/action");
        let subnet =
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s?a=b";
        assert_eq!(change(Method::Get, subnet), "Microsoft.Network/virtualNetworks/subnets/read");
    }
}
