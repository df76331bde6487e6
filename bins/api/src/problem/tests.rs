use std::collections::BTreeMap;

use http_body_util::BodyExt as _;
use serde_json::Value;

use super::*;

async fn document(problem: Problem) -> (StatusCode, axum::http::HeaderMap, Value) {
    let (parts, body) = problem.into_response().into_parts();
    let bytes = body.collect().await.expect("body").to_bytes();
    (parts.status, parts.headers, serde_json::from_slice(&bytes).expect("json"))
}

#[tokio::test]
async fn a_document_has_its_fields() {
    let (status, headers, body) = document(Problem::field("device.name", "is too long")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(headers[header::CONTENT_TYPE], MEDIA_TYPE);
    assert_eq!(body["type"], "urn:switchboard:error:invalid_field");
    assert_eq!((&body["status"], &body["code"]), (&400.into(), &"invalid_field".into()));
    assert_eq!(body["detail"], "device.name: is too long");
    assert_eq!(body["field"], "device.name");
    assert_eq!(body["errors"][0]["detail"], "is too long");
}

#[tokio::test]
async fn a_fault_says_nothing_of_the_database() {
    let (status, _, body) =
        document(store::StoreError::Internal("relation users does not exist".into()).into()).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(!body.to_string().contains("relation"), "{body}");
}

#[tokio::test]
async fn what_works_later_says_when() {
    let limited = auth::AuthError::RateLimited { retry_after: Duration::from_millis(1200) };
    let (status, headers, _) = document(limited.into()).await;
    assert_eq!((status.as_u16(), &headers[header::RETRY_AFTER]), (429, &"2".parse().expect("value")));
    let until = Timestamp::now() + Duration::from_secs(600);
    let (status, headers, body) = document(auth::AuthError::Locked { until }.into()).await;
    let after: u64 = headers[header::RETRY_AFTER].to_str().expect("text").parse().expect("number");
    assert!(status == StatusCode::LOCKED && (590..=600).contains(&after), "{after}");
    assert_eq!(body["code"], "locked");
    let (status, headers, _) = document(store::StoreError::Unavailable("gone".into()).into()).await;
    assert_eq!((status.as_u16(), &headers[header::RETRY_AFTER]), (503, &"1".parse().expect("value")));
}

#[tokio::test]
async fn unauthenticated_answers_say_how_to_sign_in() {
    let (status, headers, _) = document(auth::AuthError::BadCredentials.into()).await;
    assert_eq!(
        (status.as_u16(), &headers[header::WWW_AUTHENTICATE]),
        (401, &"Bearer".parse().expect("value"))
    );
}

#[test]
fn titles_are_distinct() {
    let titles: BTreeMap<_, _> = ErrorCode::ALL.iter().map(|code| (title(*code), *code)).collect();
    assert_eq!(titles.len(), ErrorCode::ALL.len());
}

/// `docs/errors.md` lists every code with its status, and nothing else.
#[test]
fn every_code_is_documented() {
    let page = include_str!("../../../../docs/errors.md");
    let listed: BTreeMap<String, String> = page
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|');
            let code = cells.next()?.trim().trim_matches('`').to_owned();
            Some((code, cells.next()?.trim().to_owned()))
        })
        .collect();
    let expected: BTreeMap<_, _> = ErrorCode::ALL
        .iter()
        .map(|code| (code.as_str().to_owned(), status_of(*code).as_u16().to_string()))
        .collect();
    assert_eq!(listed, expected);
}
