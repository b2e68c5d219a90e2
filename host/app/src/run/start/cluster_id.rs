//! The name of this cluster towards the cloud: as given, or the uid of the control namespace, which no two clusters
//! share.

use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use machinist_core::value::error_chain::chain;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::flags::ProcessFlags;

/// Between the first two attempts; each pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// A server that comes back is noticed this soon.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The time for one request, for which a server takes milliseconds.
const REQUEST: Duration = Duration::from_secs(10);

/// Finds the name, however long the API server is unreachable. `None` when the process has to end first.
///
/// # Errors
/// When the account may not read the namespace: no other value is as stable, so an operator has to choose one.
pub(crate) async fn cluster_id(
    flags: &ProcessFlags,
    control: &Client,
    stop: &CancellationToken,
) -> anyhow::Result<Option<String>> {
    if !flags.cluster_id.is_empty() {
        return Ok(Some(flags.cluster_id.clone()));
    }
    let api = Api::<Namespace>::all(control.clone());
    tokio::select! {
        () = stop.cancelled() => Ok(None),
        uid = uid_of(&flags.namespace, async || api.get(&flags.namespace).await) => uid.map(Some),
    }
}

async fn uid_of(
    namespace: &str,
    read: impl AsyncFn() -> Result<Namespace, kube::Error>,
) -> anyhow::Result<String> {
    let mut pause = FIRST_PAUSE;
    loop {
        let problem = match tokio::time::timeout(REQUEST, read()).await {
            Err(_) => format!("no answer within {REQUEST:?}"),
            Ok(Ok(found)) => {
                return found.metadata.uid.with_context(|| format!("namespace {namespace} has no uid"));
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => bail!(
                "failed to read namespace {namespace}, whose uid names the cluster towards the cloud: the account may not: {}. Give \
                 --cluster-id a name that no other cluster of the cloud account has and that stays, such as the one that `kubectl get \
                 namespace {namespace} -o jsonpath={{.metadata.uid}}` prints, or allow the account `get` on this namespace, as \
                 deploy/rbac/20-control-role.yaml does",
                status.message
            ),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => {
                "it is not there: create it".to_owned()
            }
            Ok(Err(error)) => chain(&error),
        };
        warn!(
            namespace,
            problem,
            again_in_s = pause.as_secs(),
            "failed to read the namespace whose uid names the cluster towards the cloud"
        );
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::time::Instant;

    use super::*;

    fn refused(code: u16) -> kube::Error {
        let status =
            kube::core::Status { code, message: "forbidden".to_owned(), ..kube::core::Status::default() };
        kube::Error::Api(Box::new(status))
    }

    fn found(uid: &str) -> Namespace {
        let mut namespace = Namespace::default();
        namespace.metadata.uid = Some(uid.to_owned());
        namespace
    }

    /// Returns the outcome of these answers, and the seconds at which they were asked for. `None` never comes.
    async fn check(answers: Vec<Option<kube::Result<Namespace>>>) -> (anyhow::Result<String>, Vec<u64>) {
        let (began, asked) = (Instant::now(), RefCell::new(Vec::new()));
        let left = RefCell::new(answers.into_iter());
        let outcome = uid_of("machines", async || {
            asked.borrow_mut().push(began.elapsed().as_secs());
            let next = left.borrow_mut().next().expect("no more is asked");
            match next {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
        .await;
        (outcome, asked.into_inner())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_fails_is_asked_again_with_growing_pauses() {
        let mut answers: Vec<_> =
            [500, 503, 429, 401, 404, 500, 500, 500].map(|code| Some(Err(refused(code)))).into();
        answers.push(Some(Ok(found("u"))));
        let (outcome, asked) = check(answers).await;
        assert_eq!(outcome.expect("a uid"), "u");
        assert_eq!(asked, [0, 1, 3, 7, 15, 31, 61, 91, 121]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_hangs_is_asked_again_after_ten_seconds_and_a_pause() {
        let (outcome, asked) = check(vec![None, None, Some(Err(refused(500))), Some(Ok(found("u")))]).await;
        assert_eq!(outcome.expect("a uid"), "u");
        assert_eq!(asked, [0, 11, 23, 27]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_right_that_is_missing_is_final_and_names_the_flag() {
        let (outcome, asked) = check(vec![Some(Err(refused(500))), Some(Err(refused(403)))]).await;
        let said = outcome.expect_err("it ends").to_string();
        for part in ["namespace machines", "may not: forbidden", "--cluster-id", "20-control-role.yaml"] {
            assert!(said.contains(part), "{part} is missing in {said}");
        }
        assert_eq!(asked, [0, 1]);
    }
}
