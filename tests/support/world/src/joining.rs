//! Bootstrap tokens of kubelets that join.

use jiff::Timestamp;
use memory_api::{ApiServer, decode};

/// True if the token in the user data is that of a Secret which a real API server would accept.
pub fn may_join(api: &ApiServer, user_data: &str, now: Timestamp) -> bool {
    let token = user_data.split_once("--token=").map(|(_, rest)| rest).unwrap_or_default();
    let token = token.split_whitespace().next().unwrap_or_default();
    let Some((id, secret)) = token.split_once('.') else { return false };
    let found = api.find("secrets", &format!("kube-system/bootstrap-token-{id}"));
    found.is_some_and(|found| {
        let data = &found["data"];
        decode(&data["token-secret"]) == secret
            && decode(&data["usage-bootstrap-authentication"]) == "true"
            && decode(&data["expiration"]).parse::<Timestamp>().is_ok_and(|end| end > now)
    })
}
