//! `/v1/openapi.json`.

use std::collections::BTreeSet;

use axum::http::Method;
use serde_json::Value;

use crate::app::TestApp;

/// Every operation of the document: path, method and what is said of it.
fn operations(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let each = paths.iter().flat_map(|(path, item)| {
        let item = item.as_object().expect("an object");
        item.iter().map(move |(method, operation)| (path.clone(), method.clone(), operation.clone()))
    });
    each.collect()
}

#[tokio::test]
async fn the_document_is_whole() {
    let app = TestApp::start().await;
    let document = app.get("/v1/openapi.json").expect(200).await.body;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    let operations = operations(&document);
    assert!(operations.len() >= 44, "{}", operations.len());
    let ids: BTreeSet<_> =
        operations.iter().map(|(_, _, operation)| operation["operationId"].to_string()).collect();
    assert_eq!(ids.len(), operations.len(), "ids are distinct");
    for (path, method, operation) in &operations {
        assert!(operation["summary"].is_string() || operation["description"].is_string(), "{method} {path}");
        let problem = &operation["responses"]["default"]["content"]["application/problem+json"]["schema"];
        assert_eq!(problem["$ref"], "#/components/schemas/Problem", "{method} {path}");
        let named = path.matches('{').count();
        let described = operation["parameters"]
            .as_array()
            .map_or(0, |parameters| parameters.iter().filter(|parameter| parameter["in"] == "path").count());
        assert_eq!(named, described, "parameters of {method} {path}");
    }
    // Every reference leads somewhere.
    let text = document.to_string();
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
    app.stop().await;
}

/// What the document says is public answers without a token, all else asks for one.
#[tokio::test]
async fn what_is_described_is_served_and_guarded() {
    let app = TestApp::start().await;
    let document = app.get("/v1/openapi.json").expect(200).await.body;
    for (path, method, operation) in operations(&document) {
        let public = operation["security"]
            .as_array()
            .is_some_and(|ways| ways.iter().any(|way| way == &serde_json::json!({})));
        let concrete = path
            .replace("{emoji}", "x")
            .split('/')
            .map(
                |part| {
                    if part.starts_with('{') { domain::RoomId::new().to_string() } else { part.to_owned() }
                },
            )
            .collect::<Vec<_>>()
            .join("/");
        let answer =
            app.call(Method::from_bytes(method.to_uppercase().as_bytes()).unwrap(), &concrete).send().await;
        let guarded = answer.status == 401 && answer.body["code"] == "unauthenticated";
        let expected = !public || path == "/v1/auth/logout";
        assert_eq!(guarded, expected, "{method} {path}: {answer:?}");
        if path == "/v1/hooks/{secret}" {
            assert!(answer.text("detail").contains("no such hook"), "{answer:?}");
            continue;
        }
        assert!(answer.status != 404 && answer.status != 405, "{method} {path}: {answer:?}");
    }
    app.stop().await;
}
