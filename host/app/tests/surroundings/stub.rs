//! A server on loopback that answers each request with a text, as an API server and, after CONNECT, as a proxy before
//! one.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The first line of a request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
}

pub(crate) struct Stub {
    port: u16,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Stub {
    /// Listens until the process ends.
    pub(crate) fn start(answer: impl Fn(&Request) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (answer, seen) = (Arc::new(answer), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, noted) = (Arc::clone(&answer), Arc::clone(&noted));
                std::thread::spawn(move || serve(&stream, &*answer, &noted));
            }
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns all requests so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().expect("no thread has failed").clone()
    }

    /// A kubeconfig for a server at this URL.
    pub(crate) fn kubeconfig(&self, folder: &Path, server: &str) -> PathBuf {
        let path = folder.join(format!("{}.kubeconfig", self.port));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n\
             users: [{{name: c, user: {{}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: c}}}}]\n"
        );
        std::fs::write(&path, text).expect("written");
        path
    }
}

/// Answers requests until the other side goes away.
fn serve(stream: &TcpStream, answer: &dyn Fn(&Request) -> String, seen: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream);
    while let Some((request, length)) = head(&mut reader) {
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        seen.lock().expect("no thread has failed").push(request.clone());
        let mut writer = stream;
        let written = if request.method == "CONNECT" {
            writer.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        } else {
            let text = answer(&request);
            let length = text.len();
            write!(
                writer,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{text}"
            )
        };
        if written.is_err() {
            return;
        }
    }
}

/// The first line, and how long the body is.
fn head(reader: &mut BufReader<&TcpStream>) -> Option<(Request, usize)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let request = Request { method: words.next()?, path: words.next()? };
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? == 0 {
            return None;
        }
        if header.trim().is_empty() {
            return Some((request, length));
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
}
