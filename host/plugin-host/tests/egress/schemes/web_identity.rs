//! Keys that a credential service gives for a token file.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use machinist_core::driver::SecretValues;
use wasmtime_wasi_http::Error as WasiError;

use super::auth::{marked, values};
use super::verify::verify;
use crate::server::{Seen, Server, ok, read_request, write_pieces};
use crate::{Answer, Host, Names};

const SESSION_SECRET: &str = "session/secret+0123456789";
const SESSION_TOKEN: &str = "session//token==0123456789";
const TOKEN: &str = "eyJhbGciOi.the-web-identity-token.signature";
const ROLE: &str = "arn:aws:iam::123456789012:role/machinist";

/// A token file as Kubernetes projects it, a clock, and a host.
struct WebIdentityFixture {
    folder: tempfile::TempDir,
    now: Arc<Mutex<Timestamp>>,
    host: Host,
}

impl WebIdentityFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mount = folder.path().join("granted");
        std::fs::create_dir_all(mount.join("..2026")).unwrap();
        std::fs::write(mount.join("..2026/token"), format!("{TOKEN}\n")).unwrap();
        symlink("..2026", mount.join("..data")).unwrap();
        symlink("..data/token", mount.join("token")).unwrap();
        std::fs::write(folder.path().join("outside"), "not-for-anybody").unwrap();
        symlink("../outside", mount.join("escape")).unwrap();
        let now = Arc::new(Mutex::new("2026-03-01T12:00:00Z".parse().unwrap()));
        let clock = now.clone();
        let host = Host::with(&Names::default(), |settings| {
            settings.clock = Arc::new(move || *clock.lock().unwrap());
        });
        Self { folder, now, host }
    }

    fn pass(&self, time: Duration) {
        *self.now.lock().unwrap() += time;
    }

    fn path(&self, file: &str) -> String {
        self.folder.path().join(file).to_str().unwrap().to_owned()
    }

    fn secret(&self, file: &str) -> SecretValues {
        values(&[("workloadIdentityTokenFile", &self.path(file)), ("roleARN", ROLE)])
    }

    fn grants(&self, cloud: &Server, sts: &Server) -> String {
        let ports = if cloud.port == sts.port {
            cloud.port.to_string()
        } else {
            format!("{}, {}", cloud.port, sts.port)
        };
        format!(
            "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{ports}], addresses: loopback }}]\n\
             auth: [{{ scheme: aws-sigv4, services: [ec2], web-identity: {{ \
             token-files: ['{}'], role-arns: ['{ROLE}'], sts: 'http://127.0.0.1:{}/{{region}}' }} }}]\n",
            self.path("granted"),
            sts.port,
        )
    }

    async fn send(&self, cloud: &Server, sts: &Server) -> Result<Answer, WasiError> {
        self.send_with(cloud, sts, "granted/token").await
    }

    async fn send_with(&self, cloud: &Server, sts: &Server, file: &str) -> Result<Answer, WasiError> {
        let call = self.host.call_with(&self.grants(cloud, sts), self.secret(file), Duration::from_secs(20));
        call.send(marked(cloud, "Action=A"), None).await
    }
}

fn credentials(count: usize, expires: &str) -> Response<Bytes> {
    ok(format!(
        "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
         <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIASESSION{count:05}</AccessKeyId>\
         <SecretAccessKey>{SESSION_SECRET}</SecretAccessKey><SessionToken>{SESSION_TOKEN}</SessionToken>\
         <Expiration>{expires}</Expiration></Credentials></AssumeRoleWithWebIdentityResult>\
         </AssumeRoleWithWebIdentityResponse>"
    ))
}

/// Gives keys that end at one o'clock, each time others.
async fn good_sts() -> Server {
    let count = AtomicUsize::new(0);
    Server::http(move |_| credentials(count.fetch_add(1, Ordering::SeqCst), "2026-03-01T13:00:00Z")).await
}

fn access_key(seen: &Seen) -> String {
    verify(seen, SESSION_SECRET).access_key_id
}

#[tokio::test]
async fn a_token_is_exchanged_and_the_request_is_signed_with_what_came() {
    let (world, cloud, sts) =
        (WebIdentityFixture::new(), Server::http(|_| ok("fine")).await, good_sts().await);
    assert_eq!(world.send(&cloud, &sts).await.unwrap().text(), "fine");
    let asked = sts.seen().remove(0);
    assert_eq!((asked.method.as_str(), asked.uri.path()), ("POST", "/eu-west-1"));
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&asked.body)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    for (name, value) in [
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", "2011-06-15"),
        ("RoleArn", ROLE),
        ("RoleSessionName", "machinist-p"),
        ("WebIdentityToken", TOKEN),
    ] {
        assert!(form.contains(&(name.to_owned(), value.to_owned())), "{name} {form:?}");
    }
    assert!(!asked.headers.contains_key("authorization"));
    let seen = cloud.seen().remove(0);
    assert_eq!(access_key(&seen), "ASIASESSION00000");
    assert_eq!(seen.headers["x-amz-security-token"], SESSION_TOKEN);
}

#[tokio::test]
async fn keys_are_kept_renewed_and_requested_again_for_another_token() {
    let (world, cloud, sts) = (WebIdentityFixture::new(), Server::http(|_| ok("")).await, good_sts().await);
    for _ in 0..5 {
        world.send(&cloud, &sts).await.unwrap();
    }
    assert_eq!(sts.seen().len(), 1);
    world.pass(Duration::from_secs(55 * 60 - 1));
    world.send(&cloud, &sts).await.unwrap();
    assert_eq!(sts.seen().len(), 1);
    world.pass(Duration::from_secs(1));
    world.send(&cloud, &sts).await.unwrap();
    assert_eq!(sts.seen().len(), 2, "five minutes before they end");
    std::fs::write(world.path("granted/..2026/token"), "another.token").unwrap();
    world.send(&cloud, &sts).await.unwrap();
    assert_eq!(sts.seen().len(), 3, "another token is another question");
}

#[tokio::test]
async fn a_hundred_calls_at_once_ask_once() {
    let (world, cloud, sts) = (WebIdentityFixture::new(), Server::http(|_| ok("")).await, good_sts().await);
    let all = futures::future::join_all((0..100).map(|_| world.send(&cloud, &sts))).await;
    assert!(all.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.status == 200)));
    assert_eq!((sts.seen().len(), cloud.seen().len()), (1, 100));
}

#[tokio::test]
async fn an_error_of_the_credential_service_is_the_answer_and_nothing_is_kept() {
    let cloud = Server::http(|_| ok("")).await;
    let denied = format!(
        "<ErrorResponse><Error><Code>AccessDenied</Code><Message>{TOKEN}</Message></Error></ErrorResponse>"
    );
    for (status, body) in
        [(403, denied.as_str()), (400, "<Code>ExpiredTokenException</Code>"), (500, "<html>oops</html>")]
    {
        let world = WebIdentityFixture::new();
        let sent = body.to_owned();
        let sts = Server::http(move |_| {
            let mut response = ok(sent.clone());
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response.headers_mut().insert("content-type", "text/xml".parse().unwrap());
            response
        })
        .await;
        for asked in 1..=2 {
            let answer = world.send(&cloud, &sts).await.unwrap();
            assert_eq!(
                (answer.status.as_u16(), &answer.headers["machinist-auth"]),
                (status, &"failed".parse().unwrap())
            );
            assert_eq!(answer.text(), body.replace(TOKEN, "***"));
            assert_eq!(answer.headers["content-type"], "text/xml");
            assert_eq!(sts.seen().len(), asked);
        }
    }
    assert_eq!(cloud.seen().len(), 0);
}

#[tokio::test]
async fn an_answer_without_keys_is_a_clear_failure() {
    let cloud = Server::http(|_| ok("")).await;
    let cut = |response: Response<Bytes>| ok(response.body().slice(..300));
    let table = [
        (cut(credentials(0, "2026-03-01T13:00:00Z")), "no whole XML"),
        (ok("<html><body>Sign in</body></html>"), "no complete credentials"),
        (ok(""), "no whole XML"),
        (ok("{\"a\":1}"), "no whole XML"),
        (credentials(0, "2026-03-01T11:00:00Z"), "one of both clocks is wrong"),
        (credentials(0, "soon"), "no complete credentials"),
    ];
    for (response, problem) in table {
        let world = WebIdentityFixture::new();
        let sts = Server::http(move |_| response.clone()).await;
        for asked in 1..=2 {
            let answer = world.send(&cloud, &sts).await.unwrap();
            assert_eq!(
                (answer.status.as_u16(), &answer.headers["machinist-auth"]),
                (502, &"failed".parse().unwrap())
            );
            assert!(answer.text().contains(problem), "{}", answer.text());
            assert_eq!(sts.seen().len(), asked, "nothing is kept");
        }
    }
    assert_eq!(cloud.seen().len(), 0);
}

#[tokio::test]
async fn a_credential_service_that_breaks_off_or_is_away_is_an_error_of_the_network() {
    let (world, cloud) = (WebIdentityFixture::new(), Server::http(|_| ok("")).await);
    let sts = Server::raw(|mut stream, _| async move {
        if read_request(&mut stream).await.is_some() {
            write_pieces(&mut stream, &[b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n<Assume"]).await;
        }
    })
    .await;
    let error = world.send(&cloud, &sts).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpResponseIncomplete), "{error:?}");
    let gone = good_sts().await;
    let grants = world.grants(&cloud, &gone);
    drop(gone);
    tokio::task::yield_now().await;
    let call = world.host.call_with(&grants, world.secret("granted/token"), Duration::from_secs(20));
    let mut error = call.send(marked(&cloud, "Action=A"), None).await;
    // The listener's socket closes when its task is dropped, which may be a moment later.
    for _ in 0..100 {
        if matches!(error, Err(WasiError::ConnectionRefused)) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
        error = call.send(marked(&cloud, "Action=A"), None).await;
    }
    assert!(matches!(error, Err(WasiError::ConnectionRefused)), "{error:?}");
    assert_eq!(cloud.seen().len(), 0);
}

#[tokio::test]
async fn a_credential_service_that_hangs_ends_with_the_call() {
    let (world, cloud) = (WebIdentityFixture::new(), Server::http(|_| ok("")).await);
    let sts = Server::raw(|mut stream, _| async move {
        read_request(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    let call = world.host.call_with(
        &world.grants(&cloud, &sts),
        world.secret("granted/token"),
        Duration::from_millis(80),
    );
    let error = call.send(marked(&cloud, "Action=A"), None).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpResponseTimeout), "{error:?}");
}

#[tokio::test]
async fn a_token_file_that_cannot_be_used_says_what_to_do() {
    let (world, cloud, sts) = (WebIdentityFixture::new(), Server::http(|_| ok("")).await, good_sts().await);
    for (file, advice) in [
        ("granted/absent", "mount the token there"),
        ("outside", "outside of the folders that token-files"),
        ("granted/escape", "outside of the folders that token-files"),
        ("granted/../outside", "correct it in the Secret"),
        ("granted", "outside of the folders"),
        ("granted/..2026", "no regular file"),
    ] {
        let answer = world.send_with(&cloud, &sts, file).await.unwrap();
        assert_eq!(
            (answer.status.as_u16(), &answer.headers["machinist-auth"]),
            (401, &"failed".parse().unwrap()),
            "{file}"
        );
        assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/plain"));
        let text = answer.text();
        assert!(text.contains("workloadIdentityTokenFile") && text.contains(advice), "{file}: {text}");
        assert!(!text.contains("not-for-anybody") && !text.contains("granted"), "{text}");
    }
    assert_eq!((sts.seen().len(), cloud.seen().len()), (0, 0));
}

#[tokio::test]
async fn a_credential_service_needs_an_egress_rule() {
    let (world, cloud, sts) = (WebIdentityFixture::new(), Server::http(|_| ok("")).await, good_sts().await);
    let grants = world.grants(&cloud, &sts).replace(&format!(", {}]", sts.port), "]");
    let call = world.host.call_with(&grants, world.secret("granted/token"), Duration::from_secs(20));
    assert!(matches!(call.send(marked(&cloud, "Action=A"), None).await, Err(WasiError::HttpRequestDenied)));
    assert_eq!((world.host.reasons(), sts.seen().len()), (vec!["auth-sts"], 0));
}

#[tokio::test]
async fn keys_that_the_cloud_refuses_are_requested_again() {
    let cloud = Server::http(|seen| {
        let is_first = seen.headers["authorization"].to_str().unwrap().contains("ASIASESSION00000");
        let code = if is_first { "ExpiredToken" } else { "InvalidParameterValue" };
        let mut response =
            ok(format!("<Response><Errors><Error><Code>{code}</Code></Error></Errors></Response>"));
        *response.status_mut() = StatusCode::BAD_REQUEST;
        response
    })
    .await;
    let (world, sts) = (WebIdentityFixture::new(), good_sts().await);
    for expected in [1, 2, 2] {
        world.send(&cloud, &sts).await.unwrap();
        assert_eq!(sts.seen().len(), expected);
    }
    let keys: Vec<String> = cloud.seen().iter().map(access_key).collect();
    assert_eq!(keys, ["ASIASESSION00000", "ASIASESSION00001", "ASIASESSION00001"]);
}

#[tokio::test]
async fn nothing_of_a_session_comes_back() {
    let cloud = Server::http(|seen| {
        let echo = format!("{:?} {SESSION_SECRET} {TOKEN}", seen.headers);
        ok(echo)
    })
    .await;
    let (world, sts) = (WebIdentityFixture::new(), good_sts().await);
    let text = world.send(&cloud, &sts).await.unwrap().text();
    let hex = verify(&cloud.seen()[0], SESSION_SECRET).hex;
    for hidden in ["ASIASESSION00000", SESSION_SECRET, SESSION_TOKEN, TOKEN, hex.as_str()] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
}

#[tokio::test]
async fn a_throttled_credential_service_is_left_alone() {
    let cloud = Server::http(|_| ok("")).await;
    let sts = Server::http(|_| {
        let mut response = ok("");
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response.headers_mut().insert("retry-after", "60".parse().unwrap());
        response
    })
    .await;
    let world = WebIdentityFixture::new();
    let first = world.send(&cloud, &sts).await.unwrap();
    assert_eq!((first.status.as_u16(), &first.headers["retry-after"]), (503, &"60".parse().unwrap()));
    let second = world.send(&cloud, &sts).await.unwrap();
    assert_eq!(
        (second.status.as_u16(), &second.headers["machinist-throttled"]),
        (429, &"true".parse().unwrap())
    );
    assert_eq!(sts.seen().len(), 1);
}

#[tokio::test]
async fn attack_a_secret_takes_a_role_of_another_team_with_the_token_of_the_host() {
    let (world, cloud, sts) = (WebIdentityFixture::new(), Server::http(|_| ok("")).await, good_sts().await);
    let token = world.path("granted/token");
    for role in ["arn:aws:iam::123456789012:role/admin", "arn:aws:iam::999999999999:role/machinist"] {
        let secret = values(&[("workloadIdentityTokenFile", &token), ("roleARN", role)]);
        let call = world.host.call_with(&world.grants(&cloud, &sts), secret, Duration::from_secs(20));
        let answer = call.send(marked(&cloud, "Action=A"), None).await;
        assert!(matches!(answer, Err(WasiError::HttpRequestDenied)), "{role}: {answer:?}");
    }
    assert_eq!(world.host.reasons(), ["auth-role", "auth-role"], "told and counted");
    assert_eq!((sts.seen().len(), cloud.seen().len()), (0, 0), "nobody sees the token");
}
