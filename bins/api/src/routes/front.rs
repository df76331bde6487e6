//! `/`: what runs here, for whoever opens the address in a browser.

use axum::http::{HeaderMap, header};
use axum::response::{Html, IntoResponse};

const PAGE: &str = include_str!("front.html");
/// Nothing of the page comes from elsewhere, and nothing in it runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";

/// The page. It says nothing that is not the same for everybody, but for the address that was asked.
pub(crate) async fn page(headers: HeaderMap) -> impl IntoResponse {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).filter(|host| is_plain(host));
    let origin = host.map_or_else(|| "http://127.0.0.1:8080".to_owned(), |host| format!("http://{host}"));
    let page = PAGE.replace("{version}", node::VERSION).replace("{origin}", &origin);
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(page))
}

/// Whether a host is made of what hosts are made of: nothing of it is markup.
fn is_plain(host: &str) -> bool {
    host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte))
}
