//! One raw connection.

use std::sync::Arc;
use std::time::Duration;

use client::socket::Raw;
use client::{Connector, Credential, Socket, SocketError};
use fastwebsockets::OpCode;
use protocol::frame::{Identify, Slot};
use protocol::{ClientFrame, CloseCode, Encoding, ServerFrame};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::AsyncWriteExt;
use tokio_rustls::TlsAcceptor;

use crate::fake::{Gateway, ME, Peer, header, hello, message, proof, request};

fn identify() -> ClientFrame {
    ClientFrame::Identify(Identify {
        slot: Slot::Device(ME),
        cursors: protocol::frame::Cursors::default(),
        log_epoch: None,
    })
}

#[tokio::test]
async fn speaks_both_encodings_and_shows_what_it_was_given() {
    let gateway = Gateway::start().await;
    for (credential, encoding) in [
        (Credential::Ticket("0123abcd".into()), Encoding::Json),
        (Credential::Bearer("token".into()), Encoding::Proto),
    ] {
        let (peer, socket) =
            tokio::join!(gateway.accept(), Socket::connect(&gateway.url, &credential, encoding));
        let (mut peer, mut socket) = (peer, socket.unwrap());
        match credential {
            Credential::Ticket(_) => {
                assert!(peer.request.starts_with("GET /v1/gateway?ticket=0123abcd HTTP/1.1\r\n"));
            }
            _ => assert_eq!(header(&peer.request, "authorization"), Some("Bearer token")),
        }
        peer.send(&hello()).await;
        assert_eq!(socket.receive().await.unwrap(), hello());
        socket.send(&identify()).await.unwrap();
        assert_eq!(peer.frame().await, identify());
        socket.send_raw(Raw::Text("{".into())).await.unwrap();
        assert_eq!(peer.raw().await, (OpCode::Text, b"{".to_vec()));
        let ((), end) = tokio::join!(peer.close(4001, "bad frame"), socket.receive());
        let end = end.expect_err("closed");
        assert_eq!(end.close_code(), Some(CloseCode::BadFrame));
        assert_eq!(end.to_string(), "closed with 4001 bad frame");
        assert!(matches!(socket.receive().await, Err(SocketError::Lost(_))));
    }
}

#[tokio::test]
async fn passes_over_what_is_new_and_answers_pings_and_gathers_fragments() {
    let gateway = Gateway::start().await;
    let credential = Credential::Nothing;
    let (mut peer, socket) =
        tokio::join!(gateway.accept(), Socket::connect(&gateway.url, &credential, Encoding::Json));
    let mut socket = socket.unwrap();
    peer.send_bytes(br#"{"op":"of_tomorrow","x":1}"#).await;
    peer.send_raw(true, OpCode::Ping, b"there?").await;
    peer.send_raw(false, OpCode::Text, br#"{"op":"#).await;
    peer.send_raw(true, OpCode::Continuation, br#""pong"}"#).await;
    peer.send(&message(1)).await;
    // A receive that is given up loses nothing.
    let _ = tokio::time::timeout(Duration::ZERO, socket.receive()).await.map(|frame| {
        assert_eq!(frame.unwrap(), ServerFrame::Pong);
    });
    let mut got = Vec::new();
    while got.last() != Some(&message(1)) {
        got.push(socket.receive().await.unwrap());
    }
    assert!(got.len() <= 2, "{got:?}");
    assert_eq!(peer.raw().await, (OpCode::Pong, b"there?".to_vec()));
    let (code, end) = tokio::join!(peer.closed(), socket.close(1000, "bye", Duration::from_secs(5)));
    assert_eq!(code, 1000);
    assert!(matches!(end, SocketError::Closed { code: Some(1000), .. }), "{end}");
}

#[tokio::test]
async fn says_why_there_is_no_connection() {
    let gateway = Gateway::start().await;
    let credential = Credential::Nothing;
    let body = r#"{"status":401,"code":"bad_ticket","detail":"the ticket was used"}"#;
    let refusal = format!(
        "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/problem+json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let wrong = |proof: &str, subprotocol: &str| {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {proof}\r\nSec-WebSocket-Protocol: {subprotocol}\r\n\r\n"
        )
    };
    for (answer, expected) in [
        (refusal, "refused with 401: bad_ticket: the ticket was used"),
        ("HTTP/1.1 502 Bad Gateway\r\n\r\nnginx".to_owned(), "refused with 502: nginx"),
        (wrong("bm9uc2Vuc2U=", "switchboard.v1.json"), "did not prove"),
        (wrong("PROOF", "graphql-ws"), "does not speak switchboard.v1.json"),
        (String::new(), "handshake"),
        ("SSH-2.0-OpenSSH\r\n".to_owned(), "handshake"),
    ] {
        let serving = async {
            let mut stream = gateway.tcp().await;
            let request = request(&mut stream).await;
            let answer = answer.replace("PROOF", &proof(header(&request, "sec-websocket-key").unwrap()));
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        let connecting = Socket::connect(&gateway.url, &credential, Encoding::Json);
        let ((), connected) = tokio::join!(serving, connecting);
        let error = connected.expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let closed = gateway.url.clone();
    drop(gateway);
    let error = Socket::connect(&closed, &credential, Encoding::Json).await.expect_err("nobody there");
    assert!(matches!(error, SocketError::Unreachable(_)), "{error}");
    for bad in ["", "ftp://localhost/", "localhost:8080"] {
        let error = Socket::connect(bad, &credential, Encoding::Json).await.expect_err(bad);
        assert!(matches!(error, SocketError::Address(_)), "{error}");
    }
}

#[tokio::test]
async fn a_silent_server_is_not_waited_for() {
    let gateway = Gateway::start().await;
    let connector = Connector::default().with_deadline(Duration::from_millis(100));
    let (_held, connected) =
        tokio::join!(gateway.tcp(), connector.connect(&gateway.url, &Credential::Nothing, Encoding::Json));
    assert!(matches!(connected, Err(SocketError::Late)));
}

#[tokio::test]
async fn goes_through_tls() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = certified.cert.der().clone();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let trusting = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();

    let gateway = Gateway::start().await;
    let url = gateway.url.replace("ws://127.0.0.1", "wss://localhost");
    let acceptor = TlsAcceptor::from(Arc::new(server));
    let connector = Connector::default().with_tls(Arc::new(trusting));
    let serving = async { Peer::upgrade(acceptor.accept(gateway.tcp().await).await.unwrap()).await };
    let credential = Credential::Bearer("token".into());
    let (mut peer, socket) = tokio::join!(serving, connector.connect(&url, &credential, Encoding::Proto));
    let mut socket = socket.unwrap();
    socket.send(&ClientFrame::Ping).await.unwrap();
    assert_eq!(peer.any_frame().await, ClientFrame::Ping);
    peer.send(&ServerFrame::Pong).await;
    assert_eq!(socket.receive().await.unwrap(), ServerFrame::Pong);

    // The system does not know this certificate.
    let strict = Connector::default();
    let (_, refused) = tokio::join!(
        async { acceptor.accept(gateway.tcp().await).await.map(|_| ()) },
        strict.connect(&url, &credential, Encoding::Json)
    );
    assert!(matches!(refused, Err(SocketError::Tls(_))), "{refused:?}");
}
