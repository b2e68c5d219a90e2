//! Waiting for RBAC: the authorizer follows new roles and bindings through a watch, a moment after they were created.

use std::time::{Duration, Instant};

use anyhow::Context;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};

const WITHIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);

/// Returns once the user, as a member of these groups, may do `verb` on `resource` (`group/resource`,
/// `group/resource/subresource`, or the bare name in the core group) in all namespaces.
pub(crate) async fn wait_until_allowed(
    client: &Client,
    user: &str,
    groups: &[&str],
    (verb, resource): (&str, &str),
) -> anyhow::Result<()> {
    let (group, plural) = resource.split_once('/').unwrap_or(("", resource));
    let (plural, subresource) = plural.split_once('/').unwrap_or((plural, ""));
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.to_owned()),
            groups: Some(groups.iter().map(|group| (*group).to_owned()).collect()),
            resource_attributes: Some(ResourceAttributes {
                group: Some(group.to_owned()),
                resource: Some(plural.to_owned()),
                subresource: Some(subresource.to_owned()),
                verb: Some(verb.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let api: Api<SubjectAccessReview> = Api::all(client.clone());
    let deadline = Instant::now() + WITHIN;
    loop {
        let answer =
            api.create(&PostParams::default(), &review).await.context("failed to ask for a permission")?;
        let status = answer.status.unwrap_or_default();
        if status.allowed {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < deadline, "{user} may not {verb} {resource}: {:?}", status.reason);
        tokio::time::sleep(POLL).await;
    }
}
