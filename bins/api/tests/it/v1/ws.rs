//! `/v1/ws`.

use crate::app::TestApp;

#[tokio::test]
async fn a_ticket_is_short_lived_hex_that_is_stored_as_a_hash() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    app.post("/v1/ws/ticket").refused(401, "unauthenticated").await;
    let issued = app.post("/v1/ws/ticket").by(&alex).expect(201).await;
    let ticket = issued.text("ticket");
    assert!(ticket.len() == 32 && ticket.bytes().all(|b| b.is_ascii_hexdigit()), "{ticket}");
    let ends: jiff::Timestamp = issued.text("expires_at").parse().unwrap();
    let left = ends.duration_since(jiff::Timestamp::now()).as_secs();
    assert!((25..=31).contains(&left), "{left}");
    assert_eq!(issued.text("expires_at").len(), "2026-11-20T10:00:00.000000Z".len());

    assert!(app.store.consume_ticket(&auth::secret::hash("0".repeat(32).as_str())).await.unwrap().is_none());
    let hash = auth::secret::hash(&ticket);
    let claims = app.store.consume_ticket(&hash).await.unwrap().expect("good once");
    assert_eq!(claims.user.to_string(), alex.id);
    assert!(app.store.consume_ticket(&hash).await.unwrap().is_none(), "and not twice");

    app.post("/v1/auth/logout").by(&alex).expect(204).await;
    app.post("/v1/ws/ticket").by(&alex).refused(401, "session_revoked").await;
    app.stop().await;
}
