use ec2::IdentityToken;
use jiff::SignedDuration;

use crate::support::{Client, Reply, Signer};

const ROLE: &str = "arn:aws:iam::123456789012:role/machines";

async fn assume(client: &Client, role: &str, token: &str) -> Reply {
    client.sts(&[("RoleArn", role), ("RoleSessionName", "tests"), ("WebIdentityToken", token)]).await
}

#[tokio::test]
async fn a_token_becomes_a_session_that_works_until_it_expires() {
    let client = Client::start().await;
    client.cloud.put_identity_token("good", IdentityToken::Valid);
    let reply = assume(&client, ROLE, "good").await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let session = client.cloud.sessions().remove(0);
    assert_eq!(reply.get("AccessKeyId"), Some(session.access_key_id.as_str()));
    assert_eq!(reply.get("SecretAccessKey"), Some(session.secret_access_key.as_str()));
    assert_eq!(reply.get("SessionToken"), session.session_token.as_deref());

    let signer = Signer { credentials: session, ..client.signer() };
    assert_eq!(client.call_as(&signer, "DescribeInstances", &[]).await.status, 200);
    let mut without = signer.clone();
    without.credentials.session_token = None;
    assert_eq!(client.call_as(&without, "DescribeInstances", &[]).await.code(), "InvalidClientTokenId");
    client.cloud.expire_sessions();
    let late = client.call_as(&signer, "DescribeInstances", &[]).await;
    assert_eq!((late.status, late.code()), (400, "ExpiredToken"));
    assert_eq!(client.cloud.stats().requests_of("AssumeRoleWithWebIdentity"), 1);
}

#[tokio::test]
async fn a_session_lasts_as_long_as_requested() {
    let client = Client::start().await;
    client.cloud.put_identity_token("good", IdentityToken::Valid);
    client.cloud.set_session_lifetime(Some(SignedDuration::from_secs(-1)));
    assert_eq!(assume(&client, ROLE, "good").await.status, 200);
    let signer = Signer { credentials: client.cloud.sessions().remove(0), ..client.signer() };
    assert_eq!(client.call_as(&signer, "DescribeInstances", &[]).await.code(), "ExpiredToken");
}

#[tokio::test]
async fn wrong_tokens_and_roles_get_different_errors() {
    let client = Client::start().await;
    client.cloud.put_identity_token("good", IdentityToken::Valid);
    client.cloud.put_identity_token("old", IdentityToken::Expired);
    let check = async |role: &str, token: &str| {
        let reply = assume(&client, role, token).await;
        (reply.status, reply.code().to_owned())
    };
    assert_eq!(check(ROLE, "forged").await, (400, "InvalidIdentityToken".to_owned()));
    assert_eq!(check(ROLE, "old").await, (400, "ExpiredTokenException".to_owned()));
    assert_eq!(check("arn:aws:iam::1:role/other", "good").await, (403, "AccessDenied".to_owned()));
    assert_eq!(check(ROLE, "").await, (400, "ValidationError".to_owned()));
    assert!(client.cloud.sessions().is_empty());
}
