//! Operations that take time. Azure answers a change at once and says where to ask how it goes: in
//! `Azure-AsyncOperation`, whose answer has a status, or in `Location`, whose answer is 202 until it is done.

use machinist_sdk::driver::{HttpAnswer, Url};
use serde_json::Value;

/// The time until the next question, if Azure names none.
pub(crate) const ASK_AGAIN_MS: u64 = 5_000;
/// Azure names seconds; a test may name none.
const SOONEST_MS: u64 = 250;
/// A wait that is far longer would only delay the Machine.
const LATEST_MS: u64 = 60_000;
/// Operations have paths of a few hundred characters.
const MOST_PATH_BYTES: usize = 2_048;

/// A change that Azure has accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// Path and query of the operation. The requests go to the driver's own endpoint: a host that an answer names could
    /// be anybody's.
    pub(crate) poll: Option<String>,
    pub(crate) retry_after_ms: Option<u64>,
}

impl Accepted {
    pub(crate) fn ask_again_ms(&self) -> u64 {
        pause(self.retry_after_ms)
    }
}

/// The state of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Running {
        retry_after_ms: Option<u64>,
    },
    Done,
    Failed {
        code: String,
        message: String,
    },
    /// Azure does not know it any more.
    Unknown,
}

pub(crate) fn pause(retry_after_ms: Option<u64>) -> u64 {
    retry_after_ms.map_or(ASK_AGAIN_MS, |pause| pause.clamp(SOONEST_MS, LATEST_MS))
}

pub(crate) fn accepted(answer: &HttpAnswer) -> Accepted {
    let url = answer.header("azure-asyncoperation").or_else(|| answer.header("location"));
    let path = url.and_then(Url::parse).map(|url| url.path_with_query);
    Accepted { poll: path.filter(|path| is_poll(path)), retry_after_ms: answer.retry_after_ms() }
}

/// True if it can be the path of an operation, and nothing else that a GET would do harm with.
pub(crate) fn is_poll(path: &str) -> bool {
    let route = path.split('?').next().unwrap_or_default();
    path.len() <= MOST_PATH_BYTES
        && path.bytes().all(|byte| byte.is_ascii_graphic())
        && route.starts_with("/subscriptions/")
        && !route.split('/').any(|segment| segment == "..")
}

/// Reads the answer of an operation. `None` if it is of another shape. The answer of `Location` is the resource itself,
/// which has no status.
pub(crate) fn progress(value: &Value, retry_after_ms: Option<u64>) -> Option<Progress> {
    let object = value.as_object()?;
    let Some(status) = object.get("status") else { return Some(Progress::Done) };
    Some(match status.as_str()? {
        "Succeeded" => Progress::Done,
        "Failed" | "Canceled" => {
            let text = |name: &str| {
                let text = value.pointer(&format!("/error/{name}")).and_then(Value::as_str);
                text.unwrap_or_default().to_owned()
            };
            let code = Some(text("code")).filter(|code| !code.is_empty());
            Progress::Failed {
                code: code.unwrap_or_else(|| status.as_str().unwrap_or_default().to_owned()),
                message: text("message"),
            }
        }
        _ => Progress::Running { retry_after_ms },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(headers: &[(&str, &str)]) -> HttpAnswer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        HttpAnswer { status: 202, headers, body: Vec::new() }
    }

    #[test]
    fn only_the_path_of_an_operation_counts() {
        let operation = "https://evil.example/subscriptions/s/providers/x/operations/1?api-version=1";
        let both = answer(&[
            ("Location", "https://a/subscriptions/s/2"),
            ("Azure-AsyncOperation", operation),
            ("Retry-After", "7"),
        ]);
        let path = "/subscriptions/s/providers/x/operations/1?api-version=1";
        let expected = Accepted { poll: Some(path.to_owned()), retry_after_ms: Some(7_000) };
        assert_eq!(accepted(&both), expected);
        let location = accepted(&answer(&[("location", "https://a/subscriptions/s/2")]));
        assert_eq!(location.poll.as_deref(), Some("/subscriptions/s/2"));
        for unusual in ["https://a/tenants/x", "https://a/subscriptions/../x", "nonsense"] {
            assert_eq!(accepted(&answer(&[("location", unusual)])).poll, None, "{unusual}");
        }
    }

    #[test]
    fn pauses_are_neither_none_nor_endless() {
        assert_eq!([None, Some(0), Some(10_000), Some(9_000_000)].map(pause), [5_000, 250, 10_000, 60_000]);
    }

    #[test]
    fn an_operation_runs_ends_or_fails() {
        let of = |value: Value| progress(&value, Some(1));
        assert_eq!(
            of(json!({ "status": "InProgress" })),
            Some(Progress::Running { retry_after_ms: Some(1) })
        );
        assert_eq!(of(json!({ "status": "Succeeded" })), Some(Progress::Done));
        assert_eq!(of(json!({ "id": "/subscriptions/s" })), Some(Progress::Done));
        let failed =
            json!({ "status": "Failed", "error": { "code": "AllocationFailed", "message": "no room" } });
        let expected = Progress::Failed { code: "AllocationFailed".into(), message: "no room".into() };
        assert_eq!(of(failed), Some(expected));
        let canceled = Progress::Failed { code: "Canceled".into(), message: String::new() };
        assert_eq!(of(json!({ "status": "Canceled" })), Some(canceled));
        assert_eq!((of(json!([])), of(json!({ "status": 1 }))), (None, None));
    }
}
