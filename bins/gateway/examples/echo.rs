//! An echo server on the gateway's WebSocket layer, for conformance tests.
//!
//! `cargo run -p switchboard-gateway --example echo -- --listen 127.0.0.1:9001`

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use axum::routing::any;
use bytes::Bytes;
use clap::Parser;
use gateway::websocket::handshake::{self, Upgrade};
use gateway::websocket::{Kinds, Limits, Message, closing, frame};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use node::AllowedOrigins;
use tokio::net::{TcpListener, TcpStream};

const SUBPROTOCOLS: &[&str] = &["switchboard.v1.json", "switchboard.v1.proto"];
const CLOSE_DEADLINE: Duration = Duration::from_secs(2);
const HEADER_DEADLINE: Duration = Duration::from_secs(10);

/// Sends every message back.
#[derive(Debug, Parser)]
struct Arguments {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:9001")]
    listen: SocketAddr,
    /// The most bytes of one message.
    #[arg(long, default_value_t = 32 << 20)]
    message_bytes: usize,
    /// The most fragments of one message.
    #[arg(long, default_value_t = 1 << 20)]
    fragments: u32,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let limits = Limits {
        message_bytes: arguments.message_bytes,
        fragments: arguments.fragments,
        too_large_code: 1009,
        kinds: Kinds::All,
    };
    let listener = TcpListener::bind(arguments.listen).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on ws://{}", listener.local_addr()?)?;
    stdout.flush()?;
    let router = Router::new().fallback(any(move |request| handle(request, limits)));
    loop {
        let (socket, _) = listener.accept().await?;
        tokio::spawn(serve(socket, router.clone()));
    }
}

async fn serve(socket: TcpStream, router: Router) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_DEADLINE);
    let served =
        builder.serve_connection_with_upgrades(TokioIo::new(socket), TowerToHyperService::new(router)).await;
    if let Err(error) = served {
        eprintln!("http: {error}");
    }
}

async fn handle(mut request: Request<Body>, limits: Limits) -> Response<Body> {
    match handshake::accept(&mut request, SUBPROTOCOLS, &AllowedOrigins::all()) {
        Ok(accepted) => {
            tokio::spawn(echo(accepted.upgrade, limits));
            accepted.response
        }
        Err(refusal) => refusal.into_response(),
    }
}

async fn echo(upgrade: Upgrade, limits: Limits) {
    let Ok(connection) = upgrade.finish().await else { return };
    let (mut reader, mut writer) = connection.split(limits);
    loop {
        let answer: Bytes = match reader.next().await {
            Ok(Message::Text(payload)) => frame::text(&payload),
            Ok(Message::Binary(payload)) => frame::binary(&payload),
            Ok(Message::Ping(payload)) => frame::pong(&payload),
            Ok(Message::Pong(_)) => continue,
            Ok(Message::Close { code, .. }) => {
                closing::answer(reader, writer, code, CLOSE_DEADLINE).await;
                return;
            }
            Err(error) => {
                closing::refuse(reader, writer, &error, CLOSE_DEADLINE).await;
                return;
            }
        };
        if writer.write(&answer).await.is_err() {
            return;
        }
    }
}
