//! Attacks on the HTTP server by other pods and by web pages, against the real listener.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::Response;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use super::refusals::Why;
use super::*;

const KUBELET: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const POD: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const MIB: usize = 1 << 20;

/// A server on all addresses.
struct Server {
    port: u16,
    refusals: Refusals,
    stop: CancellationToken,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn server(reviewer: Option<Reviewer>, times: Times) -> Server {
    let (refusals, stop) = (Refusals::default(), CancellationToken::new());
    let mut registry = Registry::default();
    refusals.register(&mut registry);
    let admin = Admin::over(AdminSources {
        registry: Arc::new(registry),
        refusals: refusals.clone(),
        insight: MachineQueries::default(),
        plugins: None,
        process: "p".to_owned(),
        profiling: false,
        reviewer,
        ready: watch::channel(true).1,
        stop: stop.clone(),
    });
    let slow = Router::new()
        .route("/debug/slow", get(async || sleep(Duration::from_secs(1)).await))
        .route("/debug/large", get(async || "x".repeat(64 * MIB)));
    let slow = guarded(slow, &admin).with_state(admin.clone());
    let router = router(admin).merge(slow);
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = Served {
        router,
        connections: Connections::default(),
        refusals: refusals.clone(),
        times,
        stop: stop.clone(),
    };
    tokio::spawn(listen::listen(listener, served));
    Server { port, refusals, stop }
}

fn short() -> Times {
    Times { headers: Duration::from_millis(300), answer: Duration::from_millis(600) }
}

impl Server {
    async fn connect(&self, from: IpAddr, to: IpAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(from, 0)).unwrap();
        socket.connect(SocketAddr::new(to, self.port)).await.unwrap()
    }

    /// Status, headers and text of the answer, from an address of this machine.
    async fn get_with(&self, from: IpAddr, page: &str, headers: &str) -> (u16, String) {
        // To itself where it is not loopback: the server sees the address that the request comes from.
        let to = if from.is_loopback() { KUBELET } else { from };
        let mut stream = self.connect(from, to).await;
        let host = if headers.to_lowercase().contains("host:") { "" } else { "host: localhost\r\n" };
        let request = format!("GET {page} HTTP/1.1\r\n{host}connection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        (status, answer)
    }

    async fn get(&self, from: IpAddr, page: &str) -> u16 {
        self.get_with(from, page, "").await.0
    }
}

/// True when the other side closes the connection within ten times the time for headers.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    timeout(short().headers * 10, stream.read_to_end(&mut rest)).await.is_ok()
}

/// An address of this machine that is not on loopback, as another pod has one.
fn elsewhere() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // Nothing is sent: the kernel only chooses the way.
    socket.connect("192.0.2.254:9").expect("this machine has no address but loopback");
    socket.local_addr().unwrap().ip()
}

#[tokio::test]
async fn attack_headers_that_come_byte_by_byte_hold_no_connection() {
    let server = server(None, short()).await;
    let mut dripping = server.connect(POD, KUBELET).await;
    let mut silent = server.connect(POD, KUBELET).await;
    dripping.write_all(b"GET /metrics HTTP/1.1\r\nx: ").await.unwrap();
    let drip = async {
        while dripping.write_all(b"y").await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(short().headers * 10, drip).await.expect("it is closed");
    assert!(is_closed(&mut silent).await);
    assert_eq!(server.refusals.of(Why::Slow), 2);
    assert_eq!(server.get(KUBELET, "/healthz").await, 200);
}

#[tokio::test]
async fn attack_headers_without_end_are_cut_off() {
    let server = server(None, Times::default()).await;
    let mut stream = server.connect(POD, KUBELET).await;
    let line = format!("x: {}\r\n", "y".repeat(1_000));
    stream.write_all(b"GET /metrics HTTP/1.1\r\n").await.unwrap();
    for _ in 0..100 {
        if stream.write_all(line.as_bytes()).await.is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    // It may be reset with what was not read.
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn attack_an_answer_that_nobody_takes_ends_in_time() {
    let server = server(None, short()).await;
    let mut stream = server.connect(POD, KUBELET).await;
    stream.write_all(b"GET /debug/large HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    sleep(short().answer * 4).await;
    assert_eq!(server.refusals.of(Why::Slow), 1);
    let mut taken = Vec::new();
    let _ = stream.read_to_end(&mut taken).await;
    assert!(taken.len() < 64 * MIB, "{}", taken.len());
}

#[tokio::test]
async fn attack_hundreds_of_connections_of_one_pod_do_not_keep_the_probes_out() {
    let server = server(None, Times::default()).await;
    let mut open = Vec::new();
    for _ in 0..400 {
        open.push(server.connect(POD, KUBELET).await);
    }
    for page in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(server.get(KUBELET, page).await, 200, "{page}");
    }
    let refused = server.refusals.of(Why::ConnectionsOfPeer);
    assert!((360..=380).contains(&refused), "{refused} of 400");
    let (_, metrics) = server.get_with(KUBELET, "/metrics", "").await;
    let line = format!("machinist_http_refused_total{{reason=\"ConnectionsOfPeer\"}} {refused}");
    assert!(metrics.contains(&line), "{metrics}");
}

#[tokio::test]
async fn attack_many_readers_of_debug_at_once_have_to_retry() {
    let server = server(None, Times::default()).await;
    let all = futures::future::join_all((0..30).map(|_| server.get_with(POD, "/debug/slow", ""))).await;
    let busy: Vec<&String> = all.iter().filter(|(status, _)| *status == 503).map(|(_, text)| text).collect();
    assert_eq!(all.iter().filter(|(status, _)| *status == 200).count(), 8);
    assert_eq!((busy.len(), server.refusals.of(Why::DebugBusy)), (22, 22));
    assert!(busy.iter().all(|text| text.contains("retry-after: 1")), "{}", busy[0]);
    assert_eq!(server.get(KUBELET, "/healthz").await, 200);
}

#[tokio::test]
async fn attack_a_page_of_the_web_reads_debug_by_a_name_of_its_own() {
    let server = server(None, Times::default()).await;
    for (host, status) in [("evil.example", 403), ("localhost:10259", 404), ("127.0.0.1", 404)] {
        let (got, text) = server.get_with(KUBELET, "/debug/plugins", &format!("host: {host}\r\n")).await;
        assert_eq!(got, status, "{host}: {text}");
    }
    assert_eq!(server.refusals.of(Why::ForeignName), 1);
}

/// Accounts by token, what the host may ask, and what was asked.
struct Cluster {
    rights: bool,
    asked: Mutex<Vec<Value>>,
    requests: AtomicUsize,
}

impl Cluster {
    fn answer(&self, path: &str, question: &Value) -> (u16, Value) {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let mut answer = question.clone();
        if path.ends_with("/selfsubjectaccessreviews") {
            answer["status"] = json!({ "allowed": self.rights });
            return (201, answer);
        }
        if !self.rights {
            return (
                403,
                json!({ "kind": "Status", "code": 403, "reason": "Forbidden", "message": "no", "status": "Failure" }),
            );
        }
        self.asked.lock().unwrap().push(question["spec"].clone());
        answer["status"] = if path.ends_with("/tokenreviews") {
            let user = |name: &str| json!({ "username": name, "groups": ["g"], "uid": "u" });
            match question["spec"]["token"].as_str().unwrap() {
                "reader" => {
                    json!({ "authenticated": true, "audiences": ["machinist"], "user": user("reader") })
                }
                "nobody" => {
                    json!({ "authenticated": true, "audiences": ["machinist"], "user": user("nobody") })
                }
                // A server that knows nothing of audiences.
                "api" => json!({ "authenticated": true, "user": user("reader") }),
                _ => json!({ "authenticated": false, "error": "unknown" }),
            }
        } else {
            let is_reader = question["spec"]["user"] == "reader";
            json!({ "allowed": is_reader })
        };
        (201, answer)
    }
}

fn reviewer(rights: bool) -> (Reviewer, Arc<Cluster>) {
    let cluster = Arc::new(Cluster { rights, asked: Mutex::default(), requests: AtomicUsize::new(0) });
    let answering = Arc::clone(&cluster);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let cluster = Arc::clone(&answering);
        async move {
            let path = request.uri().path().to_owned();
            let question = request.into_body().collect().await.unwrap().to_bytes();
            let (status, answer) = cluster.answer(&path, &serde_json::from_slice(&question).unwrap());
            let answer = Response::builder().status(status).body(Body::from(answer.to_string().into_bytes()));
            Ok::<_, Infallible>(answer.unwrap())
        }
    });
    (Reviewer::new(Client::new(service, "default")), cluster)
}

#[tokio::test]
async fn attack_another_pod_reads_debug_without_a_token_that_counts() {
    let pod = elsewhere();
    let server_on_loopback = server(None, Times::default()).await;
    let (status, text) =
        server_on_loopback.get_with(pod, "/debug/plugins", "authorization: Bearer reader\r\n").await;
    assert!(status == 403 && text.contains("pods/portforward"), "{text}");
    assert_eq!(server_on_loopback.get(pod, "/metrics").await, 200, "metrics are open");
    assert_eq!(server_on_loopback.get(pod, "/healthz").await, 200);
    assert_eq!(server_on_loopback.get(KUBELET, "/debug/plugins").await, 404, "there are none");
    assert_eq!(server_on_loopback.refusals.of(Why::NotLoopback), 1);

    let (reviewer, cluster) = reviewer(true);
    let server = server(Some(reviewer), Times::default()).await;
    for (token, status, part) in [
        ("", 401, "--audience machinist"),
        ("authorization: Bearer stranger\r\n", 401, "has ended, or is not for the audience"),
        ("authorization: Bearer api\r\n", 401, "is not for the audience"),
        ("authorization: Bearer nobody\r\n", 403, "nonResourceURLs"),
        ("authorization: Bearer reader\r\n", 404, "there are no plugins"),
    ] {
        let (got, text) = server.get_with(pod, "/debug/plugins", token).await;
        assert!(got == status && text.contains(part), "{token:?}: {text}");
    }
    let asked = cluster.asked.lock().unwrap().clone();
    assert!(asked.iter().all(|spec| spec["token"].is_null() || spec["audiences"] == json!(["machinist"])));
    let last = asked.last().unwrap();
    let page = json!({ "path": "/debug/plugins", "verb": "get" });
    assert_eq!((&last["nonResourceAttributes"], &last["groups"]), (&page, &json!(["g"])));
    assert_eq!((server.refusals.of(Why::Unauthenticated), server.refusals.of(Why::Forbidden)), (3, 1));
    assert_eq!(server.get(KUBELET, "/debug/plugins").await, 404, "loopback needs no token");
}

#[tokio::test]
async fn attack_a_flood_of_tokens_is_not_passed_on_to_the_api_server() {
    let pod = elsewhere();
    let (reviewer, cluster) = reviewer(true);
    let server = server(Some(reviewer), Times::default()).await;
    let mut busy = 0;
    for number in 0..200 {
        let token = format!("authorization: Bearer guess-{number}\r\n");
        let (status, text) = server.get_with(pod, "/debug/plugins", &token).await;
        busy += usize::from(status == 503 && text.contains("retry-after: 1"));
    }
    let asked = cluster.requests.load(Ordering::SeqCst);
    assert!(asked < 60 && busy > 140, "{asked} requests, {busy} of 200 turned away");
    assert_eq!(server.get(KUBELET, "/debug/plugins").await, 404, "loopback waits for nobody");
}

#[tokio::test]
async fn without_the_rights_the_host_says_so_and_serves_loopback_only() {
    let (reviewer, _) = reviewer(false);
    let server = server(Some(reviewer), Times::default()).await;
    let says = async {
        while !server
            .get_with(KUBELET, "/readyz?verbose", "")
            .await
            .1
            .contains("lacks create on tokenreviews")
        {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(10), says).await.expect("it says what it lacks");
    let (status, text) =
        server.get_with(elsewhere(), "/debug/plugins", "authorization: Bearer reader\r\n").await;
    assert!(status == 403 && text.contains("system:auth-delegator"), "{text}");
    assert_eq!(server.get(KUBELET, "/debug/plugins").await, 404);
    assert_eq!(server.get(KUBELET, "/readyz").await, 200, "it works on");
}
