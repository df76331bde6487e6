//! Requests that are taken, and those that are not.

use node::AllowedOrigins;
use tokio::io::AsyncReadExt;

use super::bench::{Client, LIMITS, Server, masked, request};

#[tokio::test]
async fn answers_with_the_proof_of_the_key() {
    let mut server = Server::start(LIMITS).await;
    let response = Client::open(server.address).await.ask(&request("")).await.to_ascii_lowercase();
    assert!(response.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"), "{response}");
    assert!(!response.contains("sec-websocket-protocol") && !response.contains("extensions"), "{response}");
    assert_eq!(server.taken().await.subprotocol, "switchboard.v1.json");
}

#[tokio::test]
async fn chooses_the_first_subprotocol_that_is_spoken() {
    let mut server = Server::start(LIMITS).await;
    for (asked, chosen) in [
        ("Sec-WebSocket-Protocol: switchboard.v1.proto\r\n", "switchboard.v1.proto"),
        (
            "Sec-WebSocket-Protocol: soap , switchboard.v1.json,switchboard.v1.proto\r\n",
            "switchboard.v1.json",
        ),
        (
            "Sec-WebSocket-Protocol: v2\r\nSec-WebSocket-Protocol: switchboard.v1.proto\r\n",
            "switchboard.v1.proto",
        ),
    ] {
        let deflate = format!("{asked}Sec-WebSocket-Extensions: permessage-deflate\r\n");
        let response = Client::open(server.address).await.ask(&request(&deflate)).await.to_ascii_lowercase();
        assert!(response.contains(&format!("sec-websocket-protocol: {chosen}\r\n")), "{response}");
        assert!(!response.contains("deflate"), "{response}");
        assert_eq!(server.taken().await.subprotocol, chosen);
    }
}

#[tokio::test]
async fn refuses_with_a_problem_that_says_why() {
    let server = Server::with_origins(LIMITS, AllowedOrigins::from_iter(["https://chat.example.com"])).await;
    let good = request("");
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from));
        good.replace(from, to)
    };
    for (sent, status, header, detail) in [
        (changed("GET", "POST"), 405, "allow: GET", "GET request"),
        (changed("HTTP/1.1", "HTTP/1.0"), 405, "", "HTTP/1.1"),
        (changed("Upgrade: WebSocket\r\n", ""), 426, "upgrade: websocket", "are missing"),
        (changed("keep-alive, Upgrade", "keep-alive"), 426, "upgrade: websocket", "are missing"),
        (changed("Version: 13", "Version: 8"), 426, "sec-websocket-version: 13", "must be 13"),
        (changed("dGhlIHNhbXBsZSBub25jZQ==", "c2hvcnQ="), 400, "", "16 bytes"),
        (request("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"), 400, "", "16 bytes"),
        (request("Sec-WebSocket-Protocol: graphql-ws, v2.switchboard\r\n"), 400, "", "switchboard.v1.json"),
        (request("Sec-WebSocket-Protocol: \r\n"), 400, "", "subprotocols"),
        (request("Origin: https://evil.example.com\r\n"), 403, "", "gateway.allowed_origins"),
        (
            request("Origin: https://chat.example.com\r\nOrigin: https://evil.example.com\r\n"),
            403,
            "",
            "allowed_origins",
        ),
    ] {
        let mut client = Client::open(server.address).await;
        let response = client.ask(&sent).await;
        assert!(
            response
                .starts_with(&format!("HTTP/1.{} {status}", &sent[sent.find("HTTP/1.").unwrap() + 7..][..1])),
            "{sent}\n{response}"
        );
        assert!(response.to_ascii_lowercase().contains(&header.to_ascii_lowercase()), "{sent}\n{response}");
        assert!(response.contains("application/problem+json"), "{response}");
        let length: usize = response
            .to_ascii_lowercase()
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ").map(|length| length.parse().unwrap()))
            .unwrap();
        let mut body = vec![0; length];
        client.0.read_exact(&mut body).await.unwrap();
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
    }
}

#[tokio::test]
async fn takes_listed_origins_and_none() {
    let origins = AllowedOrigins::from_iter(["https://chat.example.com"]);
    let mut server = Server::with_origins(LIMITS, origins).await;
    for origin in ["", "Origin: https://chat.example.com\r\n"] {
        let response = Client::open(server.address).await.ask(&request(origin)).await;
        assert!(response.starts_with("HTTP/1.1 101"), "{response}");
        server.taken().await;
    }
}

#[tokio::test]
async fn keeps_what_was_sent_with_the_handshake() {
    let mut server = Server::start(LIMITS).await;
    let mut client = Client::open(server.address).await;
    let mut sent = request("").into_bytes();
    for text in ["at", "once"] {
        sent.extend(masked(0x81, text.as_bytes()));
    }
    client.send(&sent).await;
    let mut taken = server.taken().await;
    for text in ["at", "once"] {
        let message = taken.next().await.unwrap();
        assert_eq!(message, gateway::websocket::Message::Text(text.into()));
    }
}

#[tokio::test]
async fn half_a_header_is_not_waited_for() {
    let server = Server::start(LIMITS).await;
    let mut client = Client::open(server.address).await;
    let whole = request("");
    client.send(&whole.as_bytes()[..whole.len() / 2]).await;
    let mut rest = Vec::new();
    client.0.read_to_end(&mut rest).await.unwrap();
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&rest));
}
