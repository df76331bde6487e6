//! What was answered.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use tokio::time::{Instant, timeout_at};

/// What the other end answered, as much of it as is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status. A redirect (3xx) stands here as it came.
    pub status: StatusCode,
    /// How long the other end asks to wait before the next request (`Retry-After`), from now. It may ask for years.
    pub retry_after: Option<Duration>,
    /// The beginning of the body, as text of at most `outbound.max_response_bytes`. What is no UTF-8, and NUL, which no text of
    /// the database can hold, stands there as U+FFFD.
    pub body: String,
    /// Whether that is all of it.
    pub is_whole: bool,
}

impl Answer {
    /// Reads up to `most` bytes of the body, until `deadline`. The rest is not read: dropping the response closes the connection. Whoever sent a
    /// status has said what became of the request, so a body that breaks off makes it no less an answer.
    pub(crate) async fn read(mut response: Response, most: usize, deadline: Instant) -> Self {
        let mut body = Vec::new();
        let mut is_whole = true;
        loop {
            let Ok(Ok(piece)) = timeout_at(deadline, response.chunk()).await else {
                is_whole = false;
                drop_cut_character(&mut body);
                break;
            };
            let Some(piece) = piece else { break };
            let room = most - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                is_whole = false;
                drop_cut_character(&mut body);
                break;
            }
        }
        let mut body = String::from_utf8_lossy(&body).replace('\0', "\u{fffd}");
        let room = body.floor_char_boundary(most);
        is_whole &= room == body.len();
        body.truncate(room);
        let retry_after = retry_after(response.headers(), Timestamp::now());
        Self { status: response.status(), retry_after, body, is_whole }
    }
}

/// A character that was cut in two is no character.
fn drop_cut_character(bytes: &mut Vec<u8>) {
    if let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
}

/// Seconds, or a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::parse(text).ok()?.timestamp();
    Some(at.duration_since(now).try_into().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2026-11-29T12:00:00Z".parse().unwrap();
        let of = |text: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_str(text).unwrap())]);
            retry_after(&headers, now)
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (text, expected) in [
            ("0", seconds(0)),
            ("120", seconds(120)),
            (" 7 ", seconds(7)),
            ("18446744073709551615", seconds(u64::MAX)),
            ("Sun, 29 Nov 2026 12:01:30 GMT", seconds(90)),
            ("Sun, 29 Nov 2026 11:00:00 GMT", seconds(0)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
            ("Sun, 99 Nov 2026 12:01:30 GMT", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn answered(body: Vec<u8>) -> Response {
        http::Response::new(body).into()
    }

    #[tokio::test]
    async fn a_character_is_kept_whole_or_not_at_all() {
        let text = "aab\u{20ac}c";
        for (most, kept) in [(7, text), (6, "aab\u{20ac}"), (5, "aab"), (4, "aab"), (3, "aab"), (0, "")] {
            let answer = Answer::read(answered(text.into()), most, soon()).await;
            assert_eq!((answer.body.as_str(), answer.is_whole), (kept, most == 7), "{most}");
        }
        let answer = Answer::read(answered(b"a\0\xffb\xe2\x82".to_vec()), 100, soon()).await;
        assert_eq!(answer.body, "a\u{fffd}\u{fffd}b\u{fffd}");
        assert!(answer.is_whole);
        // What stands for bad bytes is longer than they are.
        let answer = Answer::read(answered(vec![0xff; 10]), 10, soon()).await;
        assert_eq!((answer.body.as_str(), answer.is_whole), ("\u{fffd}\u{fffd}\u{fffd}", false));
    }

    proptest! {
        #[test]
        fn a_body_is_never_longer_than_allowed(
            bytes in proptest::collection::vec(any::<u8>(), 0..50),
            most in 0_usize..60,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let answer = runtime.block_on(Answer::read(answered(bytes.clone()), most, soon()));
            prop_assert!(answer.body.len() <= most && !answer.body.contains('\0'));
            if answer.is_whole {
                prop_assert_eq!(answer.body, String::from_utf8_lossy(&bytes).replace('\0', "\u{fffd}"));
            }
        }
    }
}
