//! A server that reads one request of each connection and then does what the test wants.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

pub(super) struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: UnboundedReceiver<String>,
    _task: JoinSet<()>,
}

impl Server {
    /// `answer` is given the socket when the request was read.
    pub(super) async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(TcpStream) -> A + Send + Sync + Clone + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        let (heard, requests) = unbounded_channel();
        let read_first = move |mut socket: TcpStream| {
            let (answer, heard) = (answer.clone(), heard.clone());
            async move {
                heard.send(read_request(&mut socket).await).unwrap();
                answer(socket).await;
            }
        };
        Self { requests, ..Self::raw(read_first).await }
    }

    /// `serve` is given each socket as it comes; no request is told of.
    pub(super) async fn raw<F, A>(serve: F) -> Self
    where
        F: Fn(TcpStream) -> A + Send + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut exchanges = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                exchanges.spawn(serve(socket));
            }
        });
        Self { address, connections, requests: unbounded_channel().1, _task: task }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connections so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The next request, as it came.
    pub(super) async fn request(&mut self) -> String {
        self.requests.recv().await.unwrap()
    }
}

/// Head and body, as far as they came.
pub(super) async fn read_request(socket: &mut (impl AsyncRead + Unpin)) -> String {
    let mut reader = BufReader::new(socket);
    let mut request = String::new();
    let mut length = 0;
    while !request.ends_with("\r\n\r\n") {
        let start = request.len();
        if reader.read_line(&mut request).await.unwrap_or_default() == 0 {
            return request;
        }
        if let Some(value) = request[start..].strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.take(length).read_to_string(&mut request).await.unwrap();
    request
}
