//! Bugs in what is written on MachinistMachines.

use http::{Method, Request};
use kube::client::Body;
use serde_json::{Value, json};
use tower::{BoxError, Service};

use super::owners::{Reply, asked, got};
use super::{Planted, patched};

/// The request as the bug makes it. May send another one before.
pub(super) async fn bent<S>(
    way: &mut S,
    request: Request<Body>,
    bug: Planted,
) -> Result<Request<Body>, BoxError>
where
    S: Service<Request<Body>, Response = Reply, Error = BoxError>,
{
    let path = request.uri().path().to_owned();
    let is_status = path.contains("/machinistmachines/") && path.ends_with("/status");
    if !is_status || request.method() != Method::PATCH {
        return Ok(request);
    }
    match bug {
        Planted::RewritesProviderIds => {
            let path = path.trim_end_matches("/status");
            if got(way, path).await?["spec"]["providerID"].is_string() {
                let other = json!({ "spec": { "providerID": "sim:///sim-1a/other" } });
                way.call(asked(Method::PATCH, path, &other)?).await?;
            }
            Ok(request)
        }
        Planted::TakesProvisionedBack => {
            patched(request, |patch: &mut Value| {
                if patch["status"]["initialization"].is_null() {
                    patch["status"]["initialization"] = json!({ "provisioned": false });
                }
            })
            .await
        }
        _ => Ok(request),
    }
}
