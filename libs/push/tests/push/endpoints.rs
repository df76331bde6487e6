//! Which subscriptions are taken when they are saved.

use push::{Endpoints, PushSettings, Subscription};
use testkit::push::FakePush;

use super::{open, subscription};

async fn refused(settings: &PushSettings, to: &Subscription) -> Option<domain::Invalid> {
    let invalid = Endpoints::new(settings).check(to).await.err()?;
    assert!(!invalid.to_string().contains("topsecret"), "{invalid}");
    Some(invalid)
}

#[tokio::test]
async fn an_endpoint_that_leads_inside_is_refused_however_it_is_written() {
    let service = FakePush::start().await;
    let good = subscription(&service.subscribe());
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "[fd00::1]",
        "localhost",
        "push.localhost",
    ] {
        let to = Subscription { endpoint: format!("https://{host}/topsecret"), ..good.clone() };
        let invalid = refused(&PushSettings::default(), &to).await.expect(host);
        assert_eq!(invalid.field, "endpoint");
        assert!(invalid.to_string().contains("public addresses"), "{invalid}");
    }
    assert!(service.is_idle().await);
}

#[tokio::test]
async fn only_https_without_a_name_and_of_some_length_is_taken() {
    let good = subscription(&FakePush::start().await.subscribe());
    for (endpoint, says) in [
        ("http://8.8.8.8/topsecret", "https://"),
        ("ftp://8.8.8.8/topsecret", "https://"),
        ("https://alex:topsecret@8.8.8.8/", "user name"),
        ("topsecret", "no URL"),
        ("", "no URL"),
        (&format!("https://8.8.8.8/topsecret{}", "x".repeat(2048)), "2048"),
    ] {
        let to = Subscription { endpoint: endpoint.to_owned(), ..good.clone() };
        let invalid = refused(&PushSettings::default(), &to).await.expect(endpoint);
        assert_eq!(invalid.field, "endpoint");
        assert!(invalid.to_string().contains(says), "{invalid}");
    }
    // Nobody is asked for an address, and nothing sent.
    let outside = Subscription { endpoint: "https://8.8.8.8/topsecret".to_owned(), ..good };
    assert_eq!(refused(&PushSettings::default(), &outside).await, None);
}

#[tokio::test]
async fn a_name_that_leads_nowhere_is_refused_with_the_reason() {
    let good = subscription(&FakePush::start().await.subscribe());
    let to = Subscription { endpoint: "https://push.invalid/topsecret".to_owned(), ..good };
    let invalid = refused(&PushSettings::default(), &to).await.expect("no such name");
    assert_eq!(invalid.field, "endpoint");
    assert!(invalid.to_string().contains("push.invalid"), "{invalid}");
}

#[tokio::test]
async fn keys_are_looked_at_first() {
    let good = subscription(&FakePush::start().await.subscribe());
    for broken in [
        Subscription { p256dh: "topsecret".into(), ..good.clone() },
        Subscription { auth: "topsecret".into(), ..good },
    ] {
        let invalid = refused(&open(), &broken).await.expect("no keys");
        assert_eq!(invalid.field, "keys");
    }
}

#[tokio::test]
async fn tests_may_open_the_inside() {
    let service = FakePush::start().await;
    let mut to = subscription(&service.subscribe());
    assert_eq!(refused(&open(), &to).await, None);
    to.endpoint = to.endpoint.replace("127.0.0.1", "localhost");
    assert_eq!(refused(&open(), &to).await, None);
    assert!(service.is_idle().await);
}
