//! Asks the API server who holds a token, and whether that account may read a page.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
    SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::{Client, Error};
use machinist_core::scheduling::request_rate::{Bucket, Rate, Turn};
use machinist_core::value::error_chain::chain;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::access::NotAllowed;

/// The audience of tokens. There is no TLS: a token that somebody reads on its way gives no access to the API server.
const AUDIENCE: &str = "machinist";

/// The most reviews at the same time, and a second: the load that callers without a token can put on the API server.
const AT_ONCE: usize = 4;
const PACE: Rate = Rate { per_second: 5.0, burst: 10 };

/// How long both reviews may take together.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(5);

/// How often the host checks for rights that it lacks.
const LOOK: Duration = Duration::from_secs(30);

/// The rights that the host needs for reviews.
const NEEDED: [(&str, &str, &str); 2] = [
    ("authentication.k8s.io", "tokenreviews", "create on tokenreviews.authentication.k8s.io"),
    ("authorization.k8s.io", "subjectaccessreviews", "create on subjectaccessreviews.authorization.k8s.io"),
];

/// Whether the host may ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rights {
    /// The API server has not answered.
    #[default]
    Unknown,
    Held,
    Lacking(&'static str),
}

/// Asks the API server.
#[derive(Debug)]
pub(crate) struct Reviewer {
    rights: watch::Sender<Rights>,
    room: Semaphore,
    bucket: Mutex<Bucket>,
    began: Instant,
    reviews: Reviews,
}

/// The requests to the API server.
#[derive(Clone)]
struct Reviews(Client);

impl std::fmt::Debug for Reviews {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reviews")
    }
}

impl Reviewer {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            rights: watch::Sender::default(),
            room: Semaphore::new(AT_ONCE),
            bucket: Mutex::new(Bucket::new(PACE)),
            began: Instant::now(),
            reviews: Reviews(client),
        }
    }

    pub(super) fn rights(&self) -> Rights {
        *self.rights.borrow()
    }

    /// Looks for the rights until the host has them, and says what is missing. Ends with `stop`.
    pub(super) async fn find_rights(&self, stop: CancellationToken) {
        loop {
            let found = timeout(REVIEW_TIMEOUT, self.reviews.rights()).await.unwrap_or_default();
            let before = self.rights.send_replace(found);
            match found {
                Rights::Held => {
                    info!("/debug is served to accounts that may get it");
                    return;
                }
                Rights::Lacking(right) if before != found => {
                    warn!(
                        right,
                        "the host's account lacks a right: /debug is served on loopback only; bind the ClusterRole system:auth-delegator to it"
                    );
                }
                Rights::Lacking(_) | Rights::Unknown => {}
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Whether the holder of the token may get the page.
    ///
    /// # Errors
    /// When he may not, or nobody says that he may.
    pub(super) async fn may_get(&self, token: &str, path: &str) -> Result<(), NotAllowed> {
        if let Rights::Lacking(right) = self.rights() {
            return Err(NotAllowed::HostLacks(right));
        }
        let _place = self.room.try_acquire().map_err(|_| NotAllowed::Busy)?;
        let now = SignedDuration::try_from(self.began.elapsed()).unwrap_or(SignedDuration::MAX);
        let turn = self.bucket.lock().unwrap_or_else(PoisonError::into_inner).take(now);
        if turn != Turn::Go {
            return Err(NotAllowed::Busy);
        }
        match timeout(REVIEW_TIMEOUT, self.reviews.may_get(token, path)).await {
            Ok(answer) => answer,
            Err(_) => Err(NotAllowed::NoAnswer),
        }
    }
}

impl Reviews {
    async fn rights(&self) -> Rights {
        for (group, resource, right) in NEEDED {
            let attributes = ResourceAttributes {
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                verb: Some("create".to_owned()),
                ..ResourceAttributes::default()
            };
            let review = SelfSubjectAccessReview {
                spec: SelfSubjectAccessReviewSpec {
                    resource_attributes: Some(attributes),
                    ..SelfSubjectAccessReviewSpec::default()
                },
                ..SelfSubjectAccessReview::default()
            };
            let api: Api<SelfSubjectAccessReview> = Api::all(self.0.clone());
            match api.create(&PostParams::default(), &review).await {
                Ok(answer) if answer.status.as_ref().is_some_and(|status| status.allowed) => {}
                Ok(_) => return Rights::Lacking(right),
                Err(error) => {
                    debug!(error = %chain(&error), "the API server does not say which rights there are");
                    return Rights::Unknown;
                }
            }
        }
        Rights::Held
    }

    async fn may_get(&self, token: &str, path: &str) -> Result<(), NotAllowed> {
        let user = self.holder(token).await?;
        let name = user.username.clone().unwrap_or_default();
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some("get".to_owned()),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(self.0.clone());
        let answer = api.create(&PostParams::default(), &review).await.map_err(|error| failed(&error, 1))?;
        let status = answer.status.unwrap_or_default();
        // An authorizer may allow and another deny: both are said, and the second counts.
        if status.allowed && status.denied != Some(true) {
            Ok(())
        } else {
            Err(NotAllowed::NoRight { user: name, path: path.to_owned() })
        }
    }

    async fn holder(&self, token: &str) -> Result<UserInfo, NotAllowed> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                audiences: Some(vec![AUDIENCE.to_owned()]),
            },
            ..TokenReview::default()
        };
        let api: Api<TokenReview> = Api::all(self.0.clone());
        let answer = api.create(&PostParams::default(), &review).await.map_err(|error| failed(&error, 0))?;
        let status = answer.status.unwrap_or_default();
        // A server that knows nothing of audiences names none: its tokens are for the API server.
        let is_for_us = status.audiences.iter().flatten().any(|audience| audience == AUDIENCE);
        match status.user {
            Some(user) if status.authenticated == Some(true) && is_for_us => Ok(user),
            Some(_) | None => Err(NotAllowed::BadToken),
        }
    }
}

fn failed(error: &Error, needed: usize) -> NotAllowed {
    debug!(error = %chain(error), "no review");
    let is_forbidden = matches!(error, Error::Api(status) if status.code == 403);
    match NEEDED.get(needed) {
        Some((_, _, right)) if is_forbidden => NotAllowed::HostLacks(right),
        Some(_) | None => NotAllowed::NoAnswer,
    }
}
