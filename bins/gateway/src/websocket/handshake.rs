//! From an HTTP request to a connection.

use axum::body::Body;
use axum::http::header::{
    ALLOW, CONNECTION, CONTENT_TYPE, HeaderName, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version};
use axum::response::IntoResponse;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use domain::ErrorCode;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto;
use node::AllowedOrigins;
use sha1::{Digest, Sha1};
use tokio::net::TcpStream;

use super::{Limits, Reader, Writer};

/// A request that was taken: send the response, and the upgrade gives the connection.
#[derive(Debug)]
pub struct Accepted {
    /// `101 Switching Protocols`; it must be returned to the server for the upgrade to finish.
    pub response: Response<Body>,
    /// Gives the connection once the response is sent.
    pub upgrade: Upgrade,
    /// The subprotocol chosen.
    pub subprotocol: &'static str,
}

/// Why a request was not taken. As a response it is a problem document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another method than GET, or an old version of HTTP.
    #[error("a WebSocket begins with a GET request of HTTP/1.1")]
    Method,
    /// `Connection: upgrade` and `Upgrade: websocket` are not both there: plain HTTP, or a proxy that drops them.
    #[error("this is a WebSocket address: `Connection: upgrade` and `Upgrade: websocket` are missing")]
    NoUpgrade,
    /// Another version than 13.
    #[error("`Sec-WebSocket-Version` must be 13")]
    Version,
    /// The key is missing, twice there, or not 16 bytes in base64.
    #[error("`Sec-WebSocket-Key` must be 16 bytes in base64, once")]
    Key,
    /// Subprotocols are asked for, and none of them is spoken here.
    #[error("none of the subprotocols asked for is spoken here; ask for switchboard.v1.json or none")]
    Subprotocol,
    /// Two tickets or two tokens.
    #[error("`ticket` may be in the query once, and `Authorization` in the headers once")]
    Credentials,
    /// The page's origin is not on the list.
    #[error("this `Origin` is not in gateway.allowed_origins")]
    Origin,
    /// The server that read the request can't hand over its socket.
    #[error("the connection can't be upgraded")]
    NotUpgradable,
    /// Another path than that of the gateway.
    #[error("there is nothing at this path; WebSockets are taken at {}", crate::gateway::PATH)]
    Path,
}

impl Refusal {
    /// Each refusal of a handshake, for documentation and metrics.
    pub const ALL: &'static [Self] = &[
        Self::Method,
        Self::NoUpgrade,
        Self::Version,
        Self::Key,
        Self::Subprotocol,
        Self::Credentials,
        Self::Origin,
        Self::NotUpgradable,
    ];

    /// A short name, for logs and metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Method => "method",
            Self::NoUpgrade => "no_upgrade",
            Self::Version => "version",
            Self::Key => "key",
            Self::Subprotocol => "subprotocol",
            Self::Credentials => "credentials",
            Self::Origin => "origin",
            Self::NotUpgradable => "not_upgradable",
            Self::Path => "path",
        }
    }

    /// The code of the problem document.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Method => ErrorCode::MethodNotAllowed,
            Self::NoUpgrade | Self::Version | Self::Key | Self::Subprotocol | Self::Credentials => {
                ErrorCode::InvalidField
            }
            Self::Origin => ErrorCode::OriginRefused,
            Self::NotUpgradable => ErrorCode::Internal,
            Self::Path => ErrorCode::NotFound,
        }
    }

    /// The status of the response.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::NoUpgrade | Self::Version => StatusCode::UPGRADE_REQUIRED,
            Self::Key | Self::Subprotocol | Self::Credentials => StatusCode::BAD_REQUEST,
            Self::Origin => StatusCode::FORBIDDEN,
            Self::NotUpgradable => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Path => StatusCode::NOT_FOUND,
        }
    }

    /// The header that tells the client what would be taken.
    const fn hint(self) -> Option<(HeaderName, &'static str)> {
        match self {
            Self::Method => Some((ALLOW, "GET")),
            Self::NoUpgrade => Some((UPGRADE, "websocket")),
            Self::Version => Some((SEC_WEBSOCKET_VERSION, "13")),
            Self::Key
            | Self::Subprotocol
            | Self::Credentials
            | Self::Origin
            | Self::NotUpgradable
            | Self::Path => None,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response<Body> {
        let status = self.status();
        let problem = serde_json::json!({
            "type": format!("urn:switchboard:error:{}", self.code()),
            "title": status.canonical_reason(),
            "status": status.as_u16(),
            "detail": self.to_string(),
            "code": self.code().as_str(),
        });
        let mut response = Response::new(Body::from(problem.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some((name, value)) = self.hint() {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Looks at a request and answers it.
///
/// `subprotocols` are those spoken here; a client that asks for none gets the first. Of several
/// asked for, the first in the client's order that is spoken here is chosen. Extensions are never
/// agreed on.
///
/// # Errors
///
/// Why the request is not taken; send it as the response, and log and count it.
pub fn accept<B>(
    request: &mut Request<B>,
    subprotocols: &[&'static str],
    origins: &AllowedOrigins,
) -> Result<Accepted, Refusal> {
    if request.method() != Method::GET || request.version() != Version::HTTP_11 {
        return Err(Refusal::Method);
    }
    let headers = request.headers();
    if !lists(headers, &CONNECTION, "upgrade") || !lists(headers, &UPGRADE, "websocket") {
        return Err(Refusal::NoUpgrade);
    }
    if single(headers, &SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err(Refusal::Version);
    }
    // A request without one comes from no browser.
    let mut sent = headers.get_all(ORIGIN).iter();
    if sent.next().is_some_and(|origin| !origins.allow(origin.as_bytes())) || sent.next().is_some() {
        return Err(Refusal::Origin);
    }
    let proof = proof(single(headers, &SEC_WEBSOCKET_KEY).ok_or(Refusal::Key)?)?;
    let (subprotocol, was_asked) = choose(headers, subprotocols)?;

    let on_upgrade = request.extensions_mut().remove::<OnUpgrade>().ok_or(Refusal::NotUpgradable)?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, proof);
    if was_asked {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(subprotocol));
    }
    Ok(Accepted { response, upgrade: Upgrade(on_upgrade), subprotocol })
}

/// The tokens of a header that is a list, over all of its lines.
fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

fn lists(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    tokens(headers, name).any(|listed| listed.eq_ignore_ascii_case(token))
}

/// The value of a header that may be there once.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut lines = headers.get_all(name).into_iter();
    lines.next().filter(|_| lines.next().is_none())
}

/// The subprotocol, and whether the client asked for it.
fn choose(headers: &HeaderMap, spoken: &[&'static str]) -> Result<(&'static str, bool), Refusal> {
    if !headers.contains_key(SEC_WEBSOCKET_PROTOCOL) {
        return spoken.first().map(|default| (*default, false)).ok_or(Refusal::Subprotocol);
    }
    tokens(headers, &SEC_WEBSOCKET_PROTOCOL)
        .find_map(|asked| spoken.iter().find(|known| **known == asked))
        .map(|known| (*known, true))
        .ok_or(Refusal::Subprotocol)
}

/// The answer to a key that shows we speak WebSocket (RFC 6455, 4.2.2).
fn proof(key: &HeaderValue) -> Result<HeaderValue, Refusal> {
    let is_key = STANDARD.decode(key.as_bytes()).is_ok_and(|bytes| bytes.len() == 16);
    if !is_key {
        return Err(Refusal::Key);
    }
    let digest = Sha1::new()
        .chain_update(key.as_bytes())
        .chain_update("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
        .finalize();
    HeaderValue::from_str(&STANDARD.encode(digest)).map_err(|_| Refusal::Key)
}

/// Why a request that was taken gave no connection.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// The client went away before the response was sent.
    #[error("upgrade: {0}")]
    Lost(#[from] hyper::Error),
    /// The server does not serve plain TCP sockets, so the layer can't take them over.
    #[error("the upgraded connection is not a TokioIo<TcpStream>")]
    NotTcp,
}

/// An upgrade that waits for its response to be sent.
#[derive(Debug)]
pub struct Upgrade(OnUpgrade);

impl Upgrade {
    /// Waits for the connection. Run it in a task of its own: the response must be returned first.
    ///
    /// # Errors
    ///
    /// The client went away, or the socket is not a plain one.
    pub async fn finish(self) -> Result<Connection, UpgradeError> {
        let (io, leftover) = bare(self.0.await?)?;
        let stream = io.into_inner();
        // Frames are small and wait for nothing. A socket that refuses is found out by its next use.
        let _ = stream.set_nodelay(true);
        // An empty leftover would keep hyper's whole read buffer alive.
        Ok(Connection { stream, leftover: if leftover.is_empty() { Bytes::new() } else { leftover } })
    }
}

/// Takes the socket out of hyper, through the automatic builder's wrapper if there is one.
fn bare(upgraded: Upgraded) -> Result<(TokioIo<TcpStream>, Bytes), UpgradeError> {
    match auto::upgrade::downcast::<TokioIo<TcpStream>>(upgraded) {
        Ok(parts) => Ok((parts.io, parts.read_buf)),
        Err(upgraded) => {
            let parts = upgraded.downcast::<TokioIo<TcpStream>>().map_err(|_| UpgradeError::NotTcp)?;
            Ok((parts.io, parts.read_buf))
        }
    }
}

/// A socket past its handshake.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    leftover: Bytes,
}

impl Connection {
    /// The two halves; both must be dropped for the socket to close.
    #[must_use]
    pub fn split(self, limits: Limits) -> (Reader, Writer) {
        let (read, write) = self.stream.into_split();
        (Reader::new(read, self.leftover, limits), Writer::new(write))
    }
}
