//! From an address to a connection.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming as Body;
use hyper::header::{
    AUTHORIZATION, CONNECTION, HOST, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use hyper::upgrade::Upgraded;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use protocol::Encoding;
use reqwest::Url;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use sha1::{Digest, Sha1};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::stream::Stream;
use super::{Incoming, Outgoing, Socket, SocketError};
use crate::problem::{MOST_BYTES, Problem};

/// What a connection shows to be let in.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A ticket of `POST /v1/ws/ticket`, good once.
    Ticket(String),
    /// An access token, or the token of an agent.
    Bearer(String),
    /// Nothing, for tests.
    Nothing,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ticket(_) => "Ticket(..)",
            Self::Bearer(_) => "Bearer(..)",
            Self::Nothing => "Nothing",
        })
    }
}

/// Connects; clones share the TLS settings, which are loaded once, when the first `wss://` comes.
#[derive(Debug, Clone)]
pub struct Connector {
    tls: Arc<OnceLock<Arc<ClientConfig>>>,
    deadline: Duration,
}

impl Default for Connector {
    /// Trusts the certificates of the system, and waits ten seconds.
    fn default() -> Self {
        Self { tls: Arc::default(), deadline: Duration::from_secs(10) }
    }
}

impl Connector {
    /// With other TLS settings, such as a private root certificate.
    #[must_use]
    pub fn with_tls(self, config: Arc<ClientConfig>) -> Self {
        Self { tls: Arc::new(OnceLock::from(config)), ..self }
    }

    /// With another deadline for the way from the address to the connection.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// The address can't be reached in time, or refuses.
    pub async fn connect(
        &self,
        url: &str,
        credential: &Credential,
        encoding: Encoding,
    ) -> Result<Socket, SocketError> {
        let url = Url::parse(url).map_err(|error| SocketError::Address(error.to_string()))?;
        let connecting = async {
            let stream = self.stream(&url).await?;
            upgrade(stream, &url, credential, encoding).await
        };
        // Boxed: it holds all of hyper's state, and is gone when connected.
        tokio::time::timeout(self.deadline, Box::pin(connecting)).await.unwrap_or(Err(SocketError::Late))
    }

    async fn stream(&self, url: &Url) -> Result<Stream, SocketError> {
        let is_tls = match url.scheme() {
            "ws" | "http" => false,
            "wss" | "https" => true,
            other => return Err(SocketError::Address(format!("scheme {other:?}, allowed are ws and wss"))),
        };
        let host = url.host_str().ok_or_else(|| SocketError::Address("without a host".to_owned()))?;
        // An IPv6 address stands in brackets in a URL and without them elsewhere.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().unwrap_or(if is_tls { 443 } else { 80 });
        let tcp = TcpStream::connect((host, port)).await.map_err(SocketError::Unreachable)?;
        tcp.set_nodelay(true).map_err(SocketError::Unreachable)?;
        if !is_tls {
            return Ok(Stream::Plain(tcp));
        }
        let name =
            ServerName::try_from(host.to_owned()).map_err(|error| SocketError::Tls(error.to_string()))?;
        let connector = TlsConnector::from(self.tls()?);
        let tls = connector.connect(name, tcp).await.map_err(|error| SocketError::Tls(error.to_string()))?;
        Ok(Stream::Tls(Box::new(tls)))
    }

    fn tls(&self) -> Result<Arc<ClientConfig>, SocketError> {
        if let Some(config) = self.tls.get() {
            return Ok(Arc::clone(config));
        }
        let mut roots = RootCertStore::empty();
        // Systems have the odd certificate that can't be read; none at all is the fault.
        let (added, _) = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if added == 0 {
            return Err(SocketError::Tls("the system has no root certificates".to_owned()));
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| SocketError::Tls(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Arc::clone(self.tls.get_or_init(|| Arc::new(config))))
    }
}

async fn upgrade(
    stream: Stream,
    url: &Url,
    credential: &Credential,
    encoding: Encoding,
) -> Result<Socket, SocketError> {
    let key = STANDARD.encode(rand::random::<[u8; 16]>());
    let request = request(url, credential, encoding, &key)?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(handshake)?;
    // The connection does the work while the others wait. It ends with the upgrade, sooner or later than
    // they do, and must not be polled after that.
    let mut connection = pin!(connection.with_upgrades().fuse());
    let mut sending = pin!(sender.send_request(request));
    let mut response = tokio::select! {
        response = &mut sending => response.map_err(handshake)?,
        end = &mut connection => {
            end.map_err(handshake)?;
            sending.await.map_err(handshake)?
        }
    };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let status = response.status().as_u16();
        let read = Limited::new(response.into_body(), MOST_BYTES).collect();
        let mut read = pin!(read);
        let body = tokio::select! {
            body = &mut read => body,
            _ = &mut connection => read.await,
        };
        let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        return Err(SocketError::Refused { status, problem: Problem::read(&body) });
    }
    check(&response, encoding, &key)?;
    let mut upgrading = hyper::upgrade::on(&mut response);
    let upgraded = tokio::select! {
        upgraded = &mut upgrading => upgraded,
        _ = &mut connection => upgrading.await,
    };
    socket(upgraded.map_err(handshake)?, encoding)
}

fn request(
    url: &Url,
    credential: &Credential,
    encoding: Encoding,
    key: &str,
) -> Result<Request<Empty<Bytes>>, SocketError> {
    let mut url = url.clone();
    if let Credential::Ticket(ticket) = credential {
        url.query_pairs_mut().append_pair("ticket", ticket);
    }
    let target = url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
    let host = url.host_str().unwrap_or_default();
    let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut request = Request::get(target)
        .header(HOST, authority)
        .header(CONNECTION, "upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_VERSION, "13")
        .header(SEC_WEBSOCKET_KEY, key)
        .header(SEC_WEBSOCKET_PROTOCOL, encoding.subprotocol());
    if let Credential::Bearer(token) = credential {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    // The error would quote the header, and with it the token.
    request.body(Empty::new()).map_err(|_| SocketError::Handshake("the request can't be written".to_owned()))
}

fn check(response: &Response<Body>, encoding: Encoding, key: &str) -> Result<(), SocketError> {
    let digest =
        Sha1::new().chain_update(key).chain_update("258EAFA5-E914-47DA-95CA-C5AB0DC85B11").finalize();
    let headers = response.headers();
    if headers
        .get(SEC_WEBSOCKET_ACCEPT)
        .is_none_or(|proof| proof.as_bytes() != STANDARD.encode(digest).as_bytes())
    {
        return Err(SocketError::Handshake("the server did not prove that it speaks WebSocket".to_owned()));
    }
    if headers.get(SEC_WEBSOCKET_PROTOCOL).is_none_or(|chosen| chosen != encoding.subprotocol()) {
        return Err(SocketError::Handshake(format!("the server does not speak {}", encoding.subprotocol())));
    }
    Ok(())
}

fn socket(upgraded: Upgraded, encoding: Encoding) -> Result<Socket, SocketError> {
    let parts = upgraded
        .downcast::<TokioIo<Stream>>()
        .map_err(|_| SocketError::Handshake("not the stream that was connected".to_owned()))?;
    let (read, write) = tokio::io::split(parts.io.into_inner());
    let outgoing = Outgoing::new(write, encoding);
    let incoming = Incoming::new(read, parts.read_buf, outgoing.clone());
    Ok(Socket { outgoing, incoming })
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn handshake(error: hyper::Error) -> SocketError {
    SocketError::Handshake(error.to_string())
}
