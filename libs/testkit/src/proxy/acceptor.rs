//! Takes connections and orders.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::SyncSender;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::pump::pump;
use super::{Arrivals, Behaviour, Counts, Order, What};

/// What the kernel keeps for the proxy of bytes that nobody has read yet, so that who sends to a stalled or
/// slow reader notices soon.
const RECEIVE_BUFFER: u32 = 64 * 1024;

/// Serves until nobody can give orders any more.
pub(super) async fn run(
    addr: SocketAddr,
    behaviour: Behaviour,
    mut orders: mpsc::Receiver<Order>,
    counts: watch::Sender<Counts>,
    listening: SyncSender<()>,
) {
    let mut listener = Some(listen(addr).expect("a port that was just free"));
    let _ = listening.send(());
    let (mut behaviour, _) = watch::channel(behaviour);
    // Kept, or their connections would end.
    let mut stranded = Vec::new();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            order = orders.recv() => {
                let Some(Order { what, done }) = order else { return };
                match what {
                    What::Cut => {
                        // Sockets that are dropped before their end are reset.
                        connections.shutdown().await;
                        counts.send_modify(|counts| counts.open = 0);
                    }
                    What::Change(change) => behaviour.send_modify(change),
                    What::Strand => {
                        let (fresh, _) = watch::channel(behaviour.borrow().clone());
                        behaviour.send_modify(|behaviour| behaviour.stalled = true);
                        stranded.push(std::mem::replace(&mut behaviour, fresh));
                    }
                }
                let arrivals = behaviour.borrow().arrivals;
                listener = match (arrivals, listener) {
                    (Arrivals::Refused, _) => None,
                    (_, Some(listener)) => Some(listener),
                    (_, None) => Some(listen(addr).expect("a port that is reserved")),
                };
                let _ = done.send(());
            }
            accepted = accept(listener.as_ref()) => {
                if let Ok(client) = accepted {
                    // Taken here and not when the task first runs: an order may come between the two.
                    let now = behaviour.borrow().clone();
                    connections.spawn(pass(client, now, behaviour.subscribe()));
                    counts.send_modify(|counts| {
                        counts.open += 1;
                        counts.accepted += 1;
                    });
                }
            }
            Some(_) = connections.join_next() => counts.send_modify(|counts| counts.open -= 1),
        }
    }
}

fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    socket.bind(addr)?;
    socket.listen(1024)
}

async fn accept(listener: Option<&TcpListener>) -> io::Result<TcpStream> {
    match listener {
        Some(listener) => {
            let (client, _) = listener.accept().await?;
            client.set_zero_linger()?;
            Ok(client)
        }
        None => std::future::pending().await,
    }
}

/// One connection to its end. Both sockets are such that dropping them resets, whenever that happens and so also when one of
/// the two was reset, until both directions came to an end in order.
async fn pass(
    mut client: TcpStream,
    now: Behaviour,
    behaviour: watch::Receiver<Behaviour>,
) -> io::Result<()> {
    if now.arrivals == Arrivals::Swallowed {
        return std::future::pending().await;
    }
    let socket = match now.upstream {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    socket.set_zero_linger()?;
    let mut server = socket.connect(now.upstream).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::try_join!(
        pump(from_client, to_server, behaviour.clone()),
        pump(from_server, to_client, behaviour),
    )?;
    SockRef::from(&client).set_linger(None)?;
    SockRef::from(&server).set_linger(None)
}
