//! Web Push, to a service that checks and decrypts.

use std::net::TcpListener;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use push::{Driver as _, MAX_PLAINTEXT, Outcome, PushSettings, Target, Urgency, Verdict};
use testkit::push::{FakePush, Reply};

use super::{drivers, message, open, subscription, target};

/// No form of a verdict shows what nobody may know.
fn assert_secret(verdict: &Verdict, endpoint: &str) {
    let path = endpoint.rsplit('/').next().expect("a path");
    let shown = format!("{verdict:?}");
    assert!(!shown.contains(path), "{shown}");
}

#[tokio::test]
async fn a_message_arrives_with_all_that_belongs_to_it() {
    let service = FakePush::start().await;
    let subscription = service.subscribe();
    let drivers = drivers(&open()).await;
    let mut message = message(r#"{"title":"Sam: caf\u00e9"}"#);
    let verdict = drivers.send(&target(&subscription), &message).await;
    assert_eq!(
        verdict,
        Verdict { outcome: Outcome::Sent, status: Some(201), reason: "answered with 201 Created".into() }
    );
    let push = service.next().await;
    assert_eq!((push.endpoint, push.text), (subscription.endpoint.clone(), message.payload.clone()));
    let topic = push.topic.expect("a topic");
    assert_eq!((push.ttl, push.urgency.as_str()), (90, "high"));
    assert_eq!(push.sender.contact.as_deref(), Some("mailto:alex@example.com"));

    let other = service.subscribe();
    for (to, is_same) in [(&subscription, true), (&other, false)] {
        drivers.send(&target(to), &message).await;
        let again = service.next().await.topic.expect("a topic");
        assert_eq!(again == topic, is_same, "one topic for a room and a device");
    }

    for (urgency, sent) in [
        (Urgency::VeryLow, "very-low"),
        (Urgency::Low, "low"),
        (Urgency::Normal, "normal"),
        (Urgency::High, "high"),
    ] {
        (message.urgency, message.topic, message.ttl) = (urgency, None, Duration::ZERO);
        drivers.send(&target(&subscription), &message).await;
        let push = service.next().await;
        assert_eq!((push.urgency.as_str(), push.topic, push.ttl), (sent, None, 0));
    }
    assert_eq!(service.received().len(), 7);
}

#[tokio::test]
async fn every_node_sends_with_the_key_of_the_first() {
    let service = FakePush::start().await;
    let subscription = service.subscribe();
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("push");
    let mut keys = Vec::new();
    for _ in 0..2 {
        let key = push::VapidKey::open(&dir).await.unwrap();
        keys.push(key.public().to_owned());
        let drivers = push::Drivers::new(&open(), std::sync::Arc::new(key)).unwrap();
        let verdict = drivers.send(&target(&subscription), &message("{}")).await;
        assert_eq!(verdict.outcome, Outcome::Sent, "{verdict:?}");
        assert_eq!(service.next().await.sender.key, keys[0]);
    }
    assert_eq!(keys[0], keys[1]);
    let stranger = drivers(&open()).await;
    let verdict = stranger.send(&target(&subscription), &message("{}")).await;
    assert_eq!((verdict.outcome, verdict.status), (Outcome::Denied, Some(403)));
}

#[tokio::test]
async fn answers_have_their_meaning() {
    let service = FakePush::start().await;
    let (subscription, other) = (service.subscribe(), service.subscribe());
    let drivers = drivers(&open()).await;
    for (status, expected) in [
        (200, Outcome::Sent),
        (400, Outcome::Refused),
        (401, Outcome::Denied),
        (403, Outcome::Denied),
        (404, Outcome::Gone),
        (410, Outcome::Gone),
        (413, Outcome::TooLarge),
        (429, Outcome::Later { after: None }),
        (500, Outcome::Later { after: None }),
        (503, Outcome::Later { after: None }),
    ] {
        service.answer_to(&subscription, Reply::status(status));
        let verdict = drivers.send(&target(&subscription), &message("{}")).await;
        assert_eq!((verdict.outcome, verdict.status), (expected, Some(status)));
        assert_secret(&verdict, &subscription.endpoint);
    }
    let verdict = drivers.send(&target(&other), &message("{}")).await;
    assert_eq!(verdict.outcome, Outcome::Sent, "that of one is not that of all");
}

#[tokio::test]
async fn a_wait_is_seconds_or_a_date_and_never_absurd() {
    let service = FakePush::start().await;
    let subscription = service.subscribe();
    let drivers = drivers(&open()).await;
    let after = async |status: u16, text: &str| {
        service.answer(Reply::status(status).header("retry-after", text));
        match drivers.send(&target(&subscription), &message("{}")).await.outcome {
            Outcome::Later { after } => after,
            other => panic!("{other:?}"),
        }
    };
    for status in [429, 503] {
        assert_eq!(after(status, "7").await, Some(Duration::from_secs(7)));
        let day = Some(push::verdict::LONGEST_WAIT);
        for absurd in ["31536000", "18446744073709551615", "Tue, 31 Dec 2999 23:59:59 GMT"] {
            assert_eq!(after(status, absurd).await, day, "{absurd}");
        }
        for nothing in ["-1", "soon", "99999999999999999999999999"] {
            assert_eq!(after(status, nothing).await, None, "{nothing}");
        }
        assert_eq!(after(status, "Sun, 06 Nov 1994 08:49:37 GMT").await, Some(Duration::ZERO));
        let soon = Timestamp::now() + SignedDuration::from_secs(90);
        let soon = soon.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let wait = after(status, &soon).await.expect("a date");
        assert!((Duration::from_secs(60)..=Duration::from_secs(90)).contains(&wait), "{wait:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (service, elsewhere) = (FakePush::start().await, FakePush::start().await);
    let (subscription, lure) = (service.subscribe(), elsewhere.subscribe());
    service.answer(Reply::redirect(&lure.endpoint));
    let verdict = drivers(&open()).await.send(&target(&subscription), &message("{}")).await;
    assert_eq!((verdict.outcome, verdict.status), (Outcome::Refused, Some(307)));
    assert!(elsewhere.received().is_empty() && elsewhere.is_idle().await);
    assert_secret(&verdict, &lure.endpoint);
}

#[tokio::test]
async fn what_is_too_long_for_any_service_is_not_sent() {
    let service = FakePush::start().await;
    let subscription = service.subscribe();
    let drivers = drivers(&open()).await;
    let verdict = drivers.send(&target(&subscription), &message(&"a".repeat(MAX_PLAINTEXT + 1))).await;
    assert_eq!((verdict.outcome, verdict.status), (Outcome::TooLarge, None));
    let verdict = drivers.send(&target(&subscription), &message(&"a".repeat(MAX_PLAINTEXT))).await;
    assert_eq!(verdict.outcome, Outcome::Sent);
    assert_eq!(service.next().await.text.len(), MAX_PLAINTEXT);
    assert_eq!(service.received().len(), 1);
}

#[tokio::test]
async fn a_service_that_is_silent_slow_or_gone_is_tried_later() {
    let service = FakePush::start().await;
    let subscription = service.subscribe();
    let short = PushSettings { timeout: Duration::from_millis(200), ..open() };
    let drivers = drivers(&short).await;
    service.answer(Reply::status(201).held());
    let silent = drivers.send(&target(&subscription), &message("{}")).await;
    assert!(silent.reason.contains("did not answer within 200ms"), "{silent:?}");
    service.next().await;
    service.answer(Reply::status(201).after(Duration::from_secs(60)));
    let slow = drivers.send(&target(&subscription), &message("{}")).await;

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap();
    drop(nobody);
    let mut gone = super::subscription(&subscription);
    gone.endpoint = format!("http://{address}/topsecret");
    let gone = drivers.send(&Target::WebPush(gone), &message("{}")).await;
    for verdict in [silent, slow, gone] {
        assert_eq!((verdict.outcome, verdict.status), (Outcome::Later { after: None }, None), "{verdict:?}");
        assert_secret(&verdict, &subscription.endpoint);
        assert!(!verdict.reason.contains("topsecret"), "{verdict:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_held_arrives_in_time() {
    let service = FakePush::start().await;
    let subscription = service.subscribe();
    let drivers = drivers(&open()).await;
    service.answer(Reply::status(201).held());
    let sending = tokio::spawn({
        let to = target(&subscription);
        async move { drivers.send(&to, &message("{}")).await }
    });
    service.next().await;
    assert!(!sending.is_finished());
    service.release();
    assert_eq!(sending.await.unwrap().outcome, Outcome::Sent);
}

#[tokio::test]
async fn nothing_is_sent_inside_unless_that_is_allowed() {
    let service = FakePush::start().await;
    let fake = service.subscribe();
    let strict = drivers(&PushSettings::default()).await;
    let port = service.origin().rsplit(':').next().unwrap();
    for endpoint in [
        fake.endpoint.clone(),
        fake.endpoint.replace("http:", "https:"),
        format!("https://localhost:{port}/topsecret"),
        format!("https://[::1]:{port}/topsecret"),
        format!("https://[::ffff:127.0.0.1]:{port}/topsecret"),
        format!("https://2130706433:{port}/topsecret"),
        "https://169.254.169.254/topsecret".to_owned(),
        "https://alex:topsecret@push.example.com/".to_owned(),
        "topsecret".to_owned(),
    ] {
        let to = push::Subscription { endpoint: endpoint.clone(), ..subscription(&fake) };
        let verdict = strict.send(&Target::WebPush(to), &message("{}")).await;
        assert_eq!((verdict.outcome, verdict.status), (Outcome::Refused, None), "{endpoint}");
        assert!(!verdict.reason.contains("topsecret"), "{verdict:?}");
    }
    assert!(service.is_idle().await);
}

#[tokio::test]
async fn keys_that_are_none_are_refused() {
    let service = FakePush::start().await;
    let fake = service.subscribe();
    let drivers = drivers(&open()).await;
    let good = subscription(&fake);
    for broken in [
        push::Subscription { p256dh: "topsecret".into(), ..good.clone() },
        push::Subscription { auth: "topsecret".into(), ..good },
    ] {
        let verdict = drivers.send(&Target::WebPush(broken), &message("{}")).await;
        assert_eq!(verdict.outcome, Outcome::Refused);
        assert!(verdict.reason.contains("keys.") && !verdict.reason.contains("topsecret"), "{verdict:?}");
    }
    assert!(service.is_idle().await);
}
