//! `/.well-known`.

use crate::app::TestApp;

#[tokio::test]
async fn the_keys_verify_what_was_signed_and_are_public() {
    let app = TestApp::start().await;
    let alex = app.person("alex").await;
    let keys = app.get("/.well-known/jwks.json").expect(200).await;
    assert!(keys.headers["cache-control"].to_str().unwrap().contains("max-age"));
    let header = alex.token.split('.').next().unwrap();
    let header = base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, header).unwrap();
    let header: serde_json::Value = serde_json::from_slice(&header).unwrap();
    let key = &keys.body["keys"][0];
    assert_eq!((&header["alg"], &header["kid"]), (&"EdDSA".into(), &key["kid"]));
    assert!(key["d"].is_null() && key["x"].is_string());
    app.stop().await;
}
