//! Sockets of extensions: connections that they make, and those that they take on this machine.
//!
//! A connection goes where a request may go. Others are taken over the loopback interface alone, and only where the person named
//! this machine as a host: what an extension tells there, any program and page of this machine can read.

use crate::extensions::Refusal;
use crate::ports::child::{Hears, Order, Printed, Talk};
use crate::ports::tools::Waiting;
use crate::tools::request::Hosts;
use futures_util::{Stream, StreamExt as _};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::ready;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Connections that a thread's servers have taken, at most: more wait.
const MOST_TAKEN: usize = 128;
/// Connections that its extensions made, and servers, at most.
const MOST_MADE: usize = 64;
/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Whoever does not answer for so long is not there.
const LONGEST: Duration = Duration::from_secs(30);
/// Between two looks for connections where there was no room for one, of files for instance.
const PAUSE: Duration = Duration::from_millis(100);

type Orders = Pin<Box<dyn Stream<Item = Order> + Send>>;

/// The sockets of a thread's extensions.
#[derive(Debug)]
pub(super) struct Sockets {
    hosts: Hosts,
    /// For those that are made, and for those that are taken: whoever connects here leaves room for the rest.
    room: (Arc<Semaphore>, Arc<Semaphore>),
    taken: Arc<Mutex<Taken>>,
}

/// Connections that were taken, until the extension talks over them.
#[derive(Debug, Default)]
struct Taken {
    all: BTreeMap<u64, (TcpStream, OwnedSemaphorePermit)>,
    last: u64,
}

/// The connections that a server took, which end with it where nobody talks over them.
struct OfServer {
    taken: Arc<Mutex<Taken>>,
    numbers: Vec<u64>,
}

impl Drop for OfServer {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        taken.all.retain(|number, _| !self.numbers.contains(number));
    }
}

impl OfServer {
    fn keep(&mut self, stream: TcpStream, room: OwnedSemaphorePermit) -> u64 {
        let mut taken = lock(&self.taken);
        self.numbers.retain(|number| taken.all.contains_key(number));
        taken.last += 1;
        let number = taken.last;
        taken.all.insert(number, (stream, room));
        self.numbers.push(number);
        number
    }
}

fn lock(taken: &Mutex<Taken>) -> MutexGuard<'_, Taken> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sockets {
    pub(super) fn new(hosts: Hosts) -> Self {
        let room = |most| Arc::new(Semaphore::new(most));
        Self { hosts, room: (room(MOST_MADE), room(MOST_TAKEN)), taken: Arc::default() }
    }

    /// See [`Outside::socket`](crate::extensions::Outside::socket).
    pub(super) fn talk(&self, spec: &Value, talk: Talk) -> Waiting<'static, Result<Value, Refusal>> {
        if let Some(number) = spec.get("accepted").and_then(Value::as_u64) {
            let Some((stream, room)) = lock(&self.taken).all.remove(&number) else {
                return Box::pin(ready(Err(Refusal::new("ECONNRESET", "the connection is over"))));
            };
            return Box::pin(carry(stream, talk, room));
        }
        let place = |name: &str| {
            let place = spec.get(name)?;
            let host = place.get("host").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
            let port = place.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok())?;
            Some((host, port))
        };
        let Ok(room) = Arc::clone(&self.room.0).try_acquire_owned() else {
            return Box::pin(ready(Err(Refusal::new("EMFILE", format!("there are {MOST_MADE} sockets already")))));
        };
        let hosts = self.hosts.clone();
        if let Some((host, port)) = place("connect") {
            return Box::pin(async move { connect(hosts, (host, port), talk, room).await });
        }
        let Some((host, port)) = place("listen") else {
            return Box::pin(ready(Err(Refusal::new("EINVAL", "the socket has no port"))));
        };
        let (all, taken) = (Arc::clone(&self.room.1), Arc::clone(&self.taken));
        Box::pin(async move {
            let _room = room;
            listen(&hosts, (host, port), talk, (all, taken)).await
        })
    }

    /// The engine begins again: nobody talks over them any more.
    pub(super) fn clear(&self) {
        lock(&self.taken).all.clear();
    }
}

async fn connect(
    hosts: Hosts,
    (host, port): (String, u16),
    talk: Talk,
    room: OwnedSemaphorePermit,
) -> Result<Value, Refusal> {
    let addresses = hosts.addresses(&host, port).await.map_err(|(code, why)| Refusal::new(code, why))?;
    let mut last = Refusal::new("ENOTFOUND", format!("`{host}` has no address"));
    for address in addresses {
        match tokio::time::timeout(LONGEST, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                (talk.hears)(Printed::State, both_ends(&stream).to_string().into_bytes()).await;
                return carry(stream, talk, room).await;
            }
            Ok(Err(error)) => last = failed(&error),
            Err(_late) => last = Refusal::new("ETIMEDOUT", format!("nobody answered for {} s", LONGEST.as_secs())),
        }
    }
    Err(last)
}

/// The address to listen at for a host that an extension names; none where others than this machine could connect to it.
fn loopback(host: &str) -> Option<IpAddr> {
    match host {
        "" | "localhost" | "0.0.0.0" | "::" => Some(Ipv4Addr::LOCALHOST.into()),
        other => other.parse().ok().filter(IpAddr::is_loopback),
    }
}

/// Takes connections until it is told to end.
async fn listen(
    hosts: &Hosts,
    (host, port): (String, u16),
    mut talk: Talk,
    (room, taken): (Arc<Semaphore>, Arc<Mutex<Taken>>),
) -> Result<Value, Refusal> {
    let at = loopback(&host).ok_or_else(|| {
        Refusal::access(format!("extensions listen on this machine alone, so at localhost and not at `{host}`"))
    })?;
    if !["localhost", "127.0.0.1", &at.to_string()].iter().any(|name| hosts.names(name, port)) {
        return Err(Refusal::access(
            "extensions may not listen on this machine: name localhost in extension_hosts of your config.toml to allow it",
        ));
    }
    let listener = TcpListener::bind((at, port)).await.map_err(|error| failed(&error))?;
    let local = listener.local_addr().map_err(|error| failed(&error))?;
    (talk.hears)(Printed::State, json!({"local": place(local)}).to_string().into_bytes()).await;
    let mut own = OfServer { taken, numbers: Vec::new() };
    loop {
        let next = async {
            // There are no more than it was made for, and nobody closes it.
            let room = Arc::clone(&room).acquire_owned().await.map_err(Error::other)?;
            let (stream, _) = listener.accept().await?;
            Ok::<_, Error>((stream, room))
        };
        tokio::select! {
            order = talk.orders.next() => match order {
                Some(Order::Write(..) | Order::Flow(_)) => {}
                None | Some(Order::Close | Order::Signal(_)) => return Ok(json!({})),
            },
            come = next => match come {
                Ok((stream, room)) => {
                    let mut told = both_ends(&stream);
                    told["accepted"] = own.keep(stream, room).into();
                    (talk.hears)(Printed::State, told.to_string().into_bytes()).await;
                }
                // What came was gone already, or there is no room; both pass.
                Err(_passing) => tokio::time::sleep(PAUSE).await,
            },
        }
    }
}

/// Carries both ways until both are over.
async fn carry(stream: TcpStream, talk: Talk, room: OwnedSemaphorePermit) -> Result<Value, Refusal> {
    let _room = room;
    // What is small is sent at once, as servers of Node do. Where the system cannot, it goes without.
    let _as_it_is = stream.set_nodelay(true);
    let Talk { orders, hears } = talk;
    let (from, to) = stream.into_split();
    let (flow, flows) = watch::channel(true);
    let reading = read(from, hears, flows);
    let writing = write(to, orders, flow);
    tokio::pin!(reading, writing);
    let come_to = tokio::select! {
        read = &mut reading => match read {
            Ok(()) => writing.await.map(drop),
            Err(error) => Err(error),
        },
        written = &mut writing => match written {
            Ok(Some((mut orders, flow))) => tokio::select! {
                read = &mut reading => read,
                () = async { while let Some(order) = orders.next().await && !ends(&order, &flow) {} } => Ok(()),
            },
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        },
    };
    come_to.map(|()| json!({})).map_err(|error| failed(&error))
}

/// Whether an order ends a connection, once all before it was written. Those that stop and go on with reading are done here.
fn ends(order: &Order, flow: &watch::Sender<bool>) -> bool {
    if let Order::Flow(flows) = order {
        flow.send_replace(*flows);
    }
    matches!(order, Order::Signal(_))
}

async fn read(mut from: OwnedReadHalf, hears: Hears, mut flows: watch::Receiver<bool>) -> Result<(), Error> {
    let mut piece = vec![0; PIECE];
    loop {
        // Whoever reads may have enough for now. Who orders that is gone only together with this.
        drop(flows.wait_for(|flows| *flows).await);
        let length = from.read(&mut piece).await?;
        let Some(come) = piece.get(..length).filter(|come| !come.is_empty()) else {
            hears(Printed::State, json!({"end": true}).to_string().into_bytes()).await;
            return Ok(());
        };
        hears(Printed::Output, come.to_vec()).await;
    }
}

/// Writes what it is told to, until that is all; none where the connection is to end at once.
async fn write(
    mut to: OwnedWriteHalf,
    mut orders: Orders,
    flow: watch::Sender<bool>,
) -> Result<Option<(Orders, watch::Sender<bool>)>, Error> {
    loop {
        match orders.next().await {
            Some(Order::Write(bytes, _room)) => to.write_all(&bytes).await?,
            Some(Order::Close) => {
                // Whoever is gone already needs not be told.
                let _gone = to.shutdown().await;
                return Ok(Some((orders, flow)));
            }
            Some(order) if !ends(&order, &flow) => {}
            None | Some(Order::Signal(_) | Order::Flow(_)) => return Ok(None),
        }
    }
}

fn place(address: SocketAddr) -> Value {
    json!({"address": address.ip().to_string(), "port": address.port()})
}

/// Both ends of a connection, as they are told.
fn both_ends(stream: &TcpStream) -> Value {
    let told = |address: Result<SocketAddr, Error>| address.map_or_else(|_gone| json!({}), place);
    json!({"local": told(stream.local_addr()), "remote": told(stream.peer_addr())})
}

/// As Node calls it.
fn failed(error: &Error) -> Refusal {
    #[expect(clippy::wildcard_enum_match_arm, reason = "kinds of errors are many, and more are added")]
    let code = match error.kind() {
        ErrorKind::ConnectionRefused => "ECONNREFUSED",
        ErrorKind::ConnectionReset => "ECONNRESET",
        ErrorKind::ConnectionAborted => "ECONNABORTED",
        ErrorKind::BrokenPipe => "EPIPE",
        ErrorKind::AddrInUse => "EADDRINUSE",
        ErrorKind::AddrNotAvailable => "EADDRNOTAVAIL",
        ErrorKind::PermissionDenied => "EACCES",
        ErrorKind::TimedOut => "ETIMEDOUT",
        ErrorKind::HostUnreachable => "EHOSTUNREACH",
        ErrorKind::NetworkUnreachable => "ENETUNREACH",
        _ => "EIO",
    };
    Refusal::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_listens_where_other_machines_could_connect() {
        for host in ["", "localhost", "0.0.0.0", "::", "127.0.0.1", "127.1.2.3", "::1"] {
            assert!(loopback(host).is_some_and(|at| at.is_loopback()), "{host}");
        }
        for host in ["10.0.0.1", "192.168.1.5", "example.com", "localhost.evil.org", "::ffff:10.0.0.1"] {
            assert_eq!(loopback(host), None, "{host}");
        }
    }
}
