//! Who is let in: origins, subprotocols, tickets and tokens.

use std::time::Duration;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use client::{Api, Credential};
use domain::UserId;
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;

use crate::raw::Raw;
use crate::sse::Sse;
use crate::world::{World, in_both_worlds};

in_both_worlds!(
    pages_of_other_origins_and_unknown_subprotocols_are_refused_in_the_handshake,
    tickets_that_are_invented_spent_or_late_let_nobody_in,
    tokens_that_are_forged_are_refused_at_every_door,
    a_token_past_its_time_is_refused_and_a_refresh_helps,
);

const FAILED: u16 = 4004;

async fn pages_of_other_origins_and_unknown_subprotocols_are_refused_in_the_handshake(
    options: ClusterOptions,
) {
    let world = World::on(
        options.setting("gateway.allowed_origins", "https://chat.example.com,http://localhost:3000"),
    )
    .await;
    let alex = world.person(1, "alex").await;
    let url = world.cluster.gateway_url(2);
    for origin in [
        "https://evil.example.com",
        "http://chat.example.com",
        "https://chat.example.com.evil.example",
        "https://chat.example.com:8443",
        "null",
        "",
    ] {
        let refused = Raw::open(&url, &alex.ticket().await, &format!("Origin: {origin}\r\n")).await;
        let refused = refused.err().unwrap_or_else(|| panic!("{origin:?} is let in"));
        assert_eq!((refused.status, refused.code().as_str()), (403, "origin_refused"), "{origin:?}");
    }
    for origin in ["https://chat.example.com", "http://localhost:3000"] {
        let let_in = Raw::open(&url, &alex.ticket().await, &format!("Origin: {origin}\r\n")).await;
        assert_eq!(let_in.expect("an upgrade").json().await["op"], "hello");
    }
    let refused = Raw::open(&url, &alex.ticket().await, "Sec-WebSocket-Protocol: chat, superchat\r\n").await;
    assert_eq!(refused.err().expect("refused").status, 400);
    // The ticket of a refused handshake is not spent.
    let ticket = alex.ticket().await;
    let refused = Raw::open(&url, &ticket, "Origin: https://evil.example.com\r\n").await;
    assert_eq!(refused.err().expect("refused").status, 403);
    // Nor that of one which shows two: which of them would count?
    let Credential::Ticket(text) = &ticket else { panic!("no ticket") };
    let both = Credential::Ticket(format!("{text}&ticket={}", "0".repeat(32)));
    let token = alex.api.access_token().expect("a token");
    let again = format!("Authorization: Bearer {token}\r\n");
    for (credential, more) in [(both, ""), (Credential::Bearer(token), &*again)] {
        let refused = Raw::open(&url, &credential, more).await.err().expect("refused");
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid_field"), "{refused:?}");
    }
    let protocols = "Sec-WebSocket-Protocol: chat, switchboard.v1.json\r\n";
    let mut let_in = Raw::open(&url, &ticket, protocols).await.expect("an upgrade");
    assert_eq!(let_in.json().await["op"], "hello");
    for request in [
        "GET /v1/gateway HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /v1/gateway HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
        "GET /v1/gateway HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        "GET /v1/elsewhere HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let refused = Raw::ask(&url, request).await.err().expect("refused");
        assert!((400..500).contains(&refused.status), "{request}: {}", refused.head);
        assert_ne!(refused.code(), "", "{request}: no problem document: {}", refused.body);
    }
}

async fn tickets_that_are_invented_spent_or_late_let_nobody_in(options: ClusterOptions) {
    let world = World::on(options.setting("tickets.ttl", "1s")).await;
    let alex = world.person(1, "alex").await;
    let late = alex.ticket().await;
    let spent = alex.ticket().await;
    Raw::open(&world.cluster.gateway_url(1), &spent, "").await.expect("an upgrade").json().await;
    // The ticket's life is counted by the database's clock; nothing tells when it is over.
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let invented = |text: &str| Credential::Ticket(text.to_owned());
    for ticket in [
        late,
        spent,
        invented(&"0".repeat(32)),
        invented(""),
        invented("short"),
        invented(&"f".repeat(10_000)),
        invented("%00%0d%0a"),
        Credential::Nothing,
    ] {
        for gateway in [1, 2] {
            let url = world.cluster.gateway_url(gateway);
            let mut raw = match Raw::open(&url, &ticket, "").await {
                Ok(raw) => raw,
                // A head too long to be read is none.
                Err(refused) => panic!("{ticket:?}: {refused:?}"),
            };
            assert_eq!(raw.closed().await, FAILED, "{ticket:?}");
        }
    }
    let log = world.cluster.log("gateway-1") + &world.cluster.log("gateway-2");
    assert!(!log.contains("ticket="), "tickets are not logged");
}

async fn tokens_that_are_forged_are_refused_at_every_door(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let good = alex.api.access_token().expect("a token");
    let [header, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!("no JWT") };
    let read = |part: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("base64")).expect("JSON")
    };
    let write = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let with = |part: &str, name: &str, value: Value| {
        let mut changed = read(part);
        changed[name] = value;
        write(&changed)
    };
    let jwks: Value = reqwest::get(format!("{}/.well-known/jwks.json", world.cluster.api_url(1)))
        .await
        .expect("an answer")
        .json()
        .await
        .expect("keys");
    let public = URL_SAFE_NO_PAD.decode(jwks["keys"][0]["x"].as_str().expect("a key")).expect("base64");
    let other = Ed25519KeyPair::generate().expect("a key");
    let sign = |header: &str, claims: &str| {
        let signed = format!("{header}.{claims}");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(other.sign(signed.as_bytes())))
    };
    // The public key, which everybody has, as the secret of another algorithm.
    let confused = {
        let signed = format!("{}.{claims}", with(header, "alg", json!("HS256")));
        let key = hmac::Key::new(hmac::HMAC_SHA256, &public);
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(hmac::sign(&key, signed.as_bytes())))
    };
    let own_key = json!({ "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(other.public_key()) });
    let forged = [
        ("no algorithm", format!("{}.{claims}.", with(header, "alg", json!("none")))),
        ("no algorithm, written otherwise", format!("{}.{claims}.", with(header, "alg", json!("nOnE")))),
        (
            "no algorithm, the old signature",
            format!("{}.{claims}.{signature}", with(header, "alg", json!("none"))),
        ),
        ("no signature", format!("{header}.{claims}.")),
        ("another key", sign(header, claims)),
        ("an unknown key", sign(&with(header, "kid", json!("unknown")), claims)),
        ("a key that is a path", sign(&with(header, "kid", json!("../../../etc/passwd")), claims)),
        ("a key that comes along", sign(&with(header, "jwk", own_key), claims)),
        ("another algorithm", confused),
        ("another person", format!("{header}.{}.{signature}", with(claims, "sub", json!(sam.id)))),
        ("a longer life", format!("{header}.{}.{signature}", with(claims, "exp", json!(4_000_000_000_u64)))),
        ("nobody", sign(header, &with(claims, "sub", json!(UserId::new())))),
        ("cut off", good[..good.len() - 4].to_owned()),
        ("one part", "rubbish".to_owned()),
        ("dots", "..".to_owned()),
        ("a ticket", alex.api.ticket().await.expect("a ticket").ticket),
        ("long", "x".repeat(6000)),
    ];
    for (what, token) in forged {
        for node in [1, 2] {
            refused_everywhere(&world, &alex.at(&world, node).with_token(&token), node, "unauthenticated")
                .await
                .unwrap_or_else(|why| panic!("{what}: {why}"));
        }
    }
    // The good one is so still, at every door.
    for node in [1, 2] {
        let api = alex.at(&world, node).with_token(&good);
        assert_eq!(api.me().await.expect("oneself").id, alex.id);
        let url = world.cluster.gateway_url(node);
        let mut raw = Raw::open(&url, &Credential::Bearer(good.clone()), "").await.expect("an upgrade");
        assert_eq!(raw.json().await["op"], "hello");
    }
}

async fn a_token_past_its_time_is_refused_and_a_refresh_helps(options: ClusterOptions) {
    let world = World::on(options.setting("auth.access_ttl", "2s").setting("auth.leeway", "0s")).await;
    let alex = world.person(1, "alex").await;
    let mut wire = world.connect(&alex, 1).await;
    let old = alex.api.access_token().expect("a token");
    let plain = |node: usize| alex.at(&world, node).with_token(&old);
    plain(2).me().await.expect("good for now");
    tokio::time::sleep(Duration::from_millis(3100)).await;
    for node in [1, 2] {
        refused_everywhere(&world, &plain(node), node, "token_expired").await.expect("refused");
    }
    // The client refreshes by itself, at either node, and an open connection lives with its sign-in.
    alex.at(&world, 2).me().await.expect("refreshed");
    wire.ping().await;
}

/// Whether REST, SSE and the gateway of a node all refuse the token of this api, with this code.
async fn refused_everywhere(world: &World, api: &Api, node: usize, code: &str) -> Result<(), String> {
    let token = api.access_token().expect("a token");
    let url = format!("{}v1/users/me", api.base());
    let answer = reqwest::Client::new().get(url).bearer_auth(&token).send().await;
    let answer = answer.map_err(|error| error.to_string())?;
    if answer.headers().get("www-authenticate").is_none_or(|value| !value.as_bytes().starts_with(b"Bearer")) {
        return Err(format!("{} without WWW-Authenticate", answer.status()));
    }
    let stream = Sse::ask(api, None, None).await;
    for answer in [answer, stream] {
        let status = answer.status();
        let problem: Value = answer.json().await.map_err(|error| error.to_string())?;
        if (status.as_u16(), problem["code"].as_str()) != (401, Some(code)) {
            return Err(format!("{status} {problem}"));
        }
    }
    let url = world.cluster.gateway_url(node);
    match Raw::open(&url, &Credential::Bearer(token), "").await {
        Ok(mut raw) => match raw.closed().await {
            FAILED => Ok(()),
            other => Err(format!("the gateway closes with {other}")),
        },
        Err(refused) => Err(format!("the gateway answers {}", refused.head)),
    }
}
