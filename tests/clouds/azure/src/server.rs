//! HTTP on loopback, and HTTPS: a thread for each connection, and nothing but the standard library, so that a driver's
//! tests compile quickly.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::cloud::Cloud;
use crate::options::Options;
use crate::requests::Reply;
use crate::wire::{Request, Response};

const MOST_BODY_BYTES: usize = 4 << 20;
const MOST_HEADER_LINES: usize = 200;
/// A connection that is silent for so long ends.
const IDLE: Duration = Duration::from_secs(60);

/// A cloud on ports of loopback, which end with this value.
pub struct Server {
    cloud: Arc<Mutex<Cloud>>,
    plain: Port,
    #[cfg(feature = "tls")]
    secure: (Port, String),
}

/// A port that accepts connections.
struct Port {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Starts it on free ports.
    pub fn start(options: Options) -> io::Result<Self> {
        Self::start_at(options, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Starts it with HTTP at this address, and HTTPS on a free port.
    pub fn start_at(options: Options, address: SocketAddr) -> io::Result<Self> {
        let cloud = Arc::new(Mutex::new(Cloud::new(options)));
        let plain = Port::open(address, &cloud, serve)?;
        #[cfg(feature = "tls")]
        let secure = {
            let tls = crate::tls::Tls::new()?;
            let certificate = tls.certificate.clone();
            let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            (Port::open(local, &cloud, move |socket, cloud| serve(tls.accept(socket)?, cloud))?, certificate)
        };
        Ok(Self {
            cloud,
            plain,
            #[cfg(feature = "tls")]
            secure,
        })
    }

    /// The base URL of HTTP.
    pub fn url(&self) -> String {
        format!("http://{}", self.plain.address)
    }

    /// The base URL of HTTPS. Its certificate is for `localhost`.
    #[cfg(feature = "tls")]
    pub fn secure_url(&self) -> String {
        format!("https://localhost:{}", self.secure.0.address.port())
    }

    /// The certificate of HTTPS, PEM.
    #[cfg(feature = "tls")]
    pub fn certificate(&self) -> &str {
        &self.secure.1
    }

    /// The cloud behind it, at the present time. Requests wait until the guard is dropped.
    pub fn cloud(&self) -> MutexGuard<'_, Cloud> {
        let mut cloud = self.cloud.lock().unwrap_or_else(PoisonError::into_inner);
        cloud.tick(now_ms());
        cloud
    }
}

impl Port {
    fn open(
        address: SocketAddr,
        cloud: &Arc<Mutex<Cloud>>,
        serve: impl Fn(TcpStream, &Mutex<Cloud>) -> io::Result<()> + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (ends, cloud) = (Arc::clone(&is_over), Arc::clone(cloud));
        thread::Builder::new().name("azure".to_owned()).spawn(move || {
            for socket in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(socket) = socket else { continue };
                let (serve, cloud) = (serve.clone(), Arc::clone(&cloud));
                // A connection that breaks is the client's affair, or a fault.
                thread::spawn(move || {
                    let is_ready = socket.set_nodelay(true).and(socket.set_read_timeout(Some(IDLE)));
                    let _ = is_ready.and_then(|()| serve(socket, &cloud));
                });
            }
        })?;
        Ok(Self { address, is_over })
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // The thread waits for a connection.
        let _ = TcpStream::connect(self.address);
    }
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Answers the requests of a connection until it ends.
fn serve(socket: impl Read + Write, cloud: &Mutex<Cloud>) -> io::Result<()> {
    let mut socket = BufReader::new(socket);
    while let Some(request) = read(&mut socket)? {
        let reply = cloud.lock().unwrap_or_else(PoisonError::into_inner).handle(&request, now_ms());
        let Reply::Answer(answer) = reply else { return Ok(()) };
        write(socket.get_mut(), &request, &answer)?;
    }
    Ok(())
}

/// Reads a request of HTTP/1.1; `None` at the end of the connection.
fn read(socket: &mut BufReader<impl Read>) -> io::Result<Option<Request>> {
    let Some(first) = line(socket)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(invalid("no request line"));
    };
    let mut request = Request::new(method, target);
    for _ in 0..MOST_HEADER_LINES {
        let header = line(socket)?.ok_or_else(|| invalid("half of a request"))?;
        if header.is_empty() {
            if request.header_value("transfer-encoding").is_some() {
                return Err(invalid("no client of this cloud sends chunks"));
            }
            let length = request.header_value("content-length").map_or(Ok(0), str::parse::<usize>);
            let length = length.map_err(|_| invalid("no length"))?;
            if length > MOST_BODY_BYTES {
                return Err(invalid("too large"));
            }
            let mut body = vec![0; length];
            socket.read_exact(&mut body)?;
            return Ok(Some(request.body(body)));
        }
        let (name, value) = header.split_once(':').ok_or_else(|| invalid("no header"))?;
        request = request.header(name.trim(), value.trim());
    }
    Err(invalid("too many headers"))
}

fn line(socket: &mut BufReader<impl Read>) -> io::Result<Option<String>> {
    let mut line = String::new();
    let length = socket.take(1 << 16).read_line(&mut line)?;
    Ok((length > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
}

fn write(socket: &mut impl Write, request: &Request, answer: &Response) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Answer\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let has_body = answer.status != 204 && request.method != "HEAD";
    if has_body {
        head.push_str(&format!("content-length: {}\r\n", answer.body.len()));
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    if has_body {
        bytes.extend(&answer.body);
    }
    // At once, so that no half of an answer waits for the other.
    socket.write_all(&bytes)?;
    socket.flush()
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
