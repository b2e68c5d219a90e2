//! Faults of the cloud and of the way to it.

use crate::wire::{Answer, ApiError, Delivery};

/// The fault of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The cloud refuses it.
    Refuse(ApiError),
    /// The cloud does it and answers with this error all the same.
    RefuseAfter(ApiError),
    /// It does not reach the cloud, and there is no answer.
    LostRequest,
    /// The cloud does it, and the answer is lost.
    LostAnswer,
    /// The cloud does it, and half of the answer arrives.
    HalfAnswer,
    /// A proxy answers with a page. The request does not reach the cloud.
    Page { status: u16 },
    /// The cloud answers JSON of another shape. The request does not reach it.
    OtherShape,
    /// The operation that the request begins fails at its end.
    FailOperation { code: String, message: String },
}

/// A fault of some requests.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Resource and method, such as `instances.insert`; `None` for all.
    pub on: Option<String>,
    /// How many requests pass before the first that it affects.
    pub skip: usize,
    /// Of the requests after that one, each so many-th is affected; 1 means each.
    pub every: usize,
    /// How many requests it affects.
    pub times: usize,
    pub effect: Effect,
}

impl Rule {
    /// Affects the next request of a method.
    pub fn next(on: &str, effect: Effect) -> Self {
        Self { on: Some(on.to_owned()), skip: 0, every: 1, times: 1, effect }
    }

    /// Affects the request with this number, counted from 0, whatever its method.
    pub fn nth(number: usize, effect: Effect) -> Self {
        Self { on: None, skip: number, every: 1, times: 1, effect }
    }

    /// Affects each request of a method whose number is a multiple of this one, counted from 1.
    pub fn every(on: &str, number: usize, effect: Effect) -> Self {
        let skip = number.saturating_sub(1);
        Self { on: Some(on.to_owned()), skip, every: number, times: usize::MAX, effect }
    }
}

/// The rules that are left.
#[derive(Clone, Debug, Default)]
pub struct Faults(Vec<Rule>);

impl Faults {
    pub fn add(&mut self, rule: Rule) {
        self.0.push(rule);
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether each rule has affected all its requests.
    pub fn is_used_up(&self) -> bool {
        self.0.iter().all(|rule| rule.times == 0)
    }

    /// Returns the effect of the first rule for this request.
    pub(crate) fn take(&mut self, method: &str) -> Option<Effect> {
        let is_meant = |rule: &&mut Rule| rule.times > 0 && rule.on.as_deref().is_none_or(|on| on == method);
        let rule = self.0.iter_mut().find(is_meant)?;
        if rule.skip > 0 {
            rule.skip -= 1;
            return None;
        }
        rule.times -= 1;
        rule.skip = rule.every.saturating_sub(1);
        Some(rule.effect.clone())
    }
}

impl Effect {
    /// Returns the answer instead of the cloud's own, if the request does not reach it.
    pub(crate) fn before(&self) -> Option<Answer> {
        match self {
            Self::Refuse(error) => Some(error.clone().into()),
            Self::LostRequest => Some(nothing()),
            Self::Page { status } => Some(Answer {
                status: *status,
                headers: vec![("content-type", "text/html".to_owned())],
                body: b"<html><body>Bad gateway</body></html>".to_vec(),
                delivery: Delivery::Whole,
            }),
            Self::OtherShape => Some(Answer::json(200, &serde_json::json!({ "answer": [42] }))),
            Self::RefuseAfter(_) | Self::LostAnswer | Self::HalfAnswer | Self::FailOperation { .. } => None,
        }
    }

    /// Changes the cloud's answer.
    pub(crate) fn after(&self, answer: Answer) -> Answer {
        match self {
            Self::RefuseAfter(error) => error.clone().into(),
            Self::LostAnswer => nothing(),
            Self::HalfAnswer => Answer { delivery: Delivery::Cut, ..answer },
            Self::Refuse(_)
            | Self::LostRequest
            | Self::Page { .. }
            | Self::OtherShape
            | Self::FailOperation { .. } => answer,
        }
    }
}

fn nothing() -> Answer {
    Answer { status: 502, headers: Vec::new(), body: Vec::new(), delivery: Delivery::Never }
}
