//! Servers that go away, hang, or are standbys.

use cluster::NotifierSettings;
use domain::NodeId;
use testkit::postgres::OwnServer;

use crate::node::{Ear, Heard, Mouth, by_hand, connector, quick, stream};

#[tokio::test]
async fn both_come_back_after_a_restart_of_the_database() {
    let mut server = OwnServer::fast().await;
    let url = server.database("restarted").await.expect("a database");
    let mut ear = Ear::up(connector(&url), NodeId::new()).await;
    let mouth = Mouth::start(connector(&url), NotifierSettings::default());
    mouth.say(1, 1);
    assert_eq!(ear.entry().await, stream(1, 1));

    server.stop().await.expect("stopped");
    ear.expect(Heard::Disconnected).await;
    ear.until_away("connecting failed").await;
    server.start_again().await.expect("started");
    ear.expect(Heard::Connected).await;
    mouth.say(1, 2);
    assert_eq!(ear.entry().await, stream(1, 2));

    server.kill().await.expect("killed");
    ear.expect(Heard::Disconnected).await;
    server.start_again().await.expect("started");
    ear.expect(Heard::Connected).await;
    mouth.say(1, 3);
    assert_eq!(ear.entry().await, stream(1, 3));
    mouth.stop().await;
    ear.stop().await;
}

#[tokio::test]
async fn a_server_that_hangs_is_noticed() {
    let server = OwnServer::fast().await;
    let url = server.database("hanging").await.expect("a database");
    let mut ear = Ear::up(connector(&url), NodeId::new()).await;
    server.pause();
    ear.expect(Heard::Disconnected).await;
    ear.until_away("took longer than").await;
    server.resume();
    ear.expect(Heard::Connected).await;
    ear.stop().await;
}

#[tokio::test]
async fn a_standby_is_named_and_used_once_it_is_promoted() {
    let mut server = OwnServer::durable().await;
    let url = server.database("standby").await.expect("a database");
    server.stop().await.expect("stopped");
    let signal = server.data_dir().join("standby.signal");
    std::fs::write(&signal, "").expect("the data directory is ours");
    server.start_again().await.expect("started as a standby");

    let mut ear = Ear::start(connector(&url), NodeId::new(), quick());
    ear.until_away("read-only standby").await;
    let mouth = Mouth::start(connector(&url), NotifierSettings::default());
    mouth.say(1, 1);
    mouth.until("notify_errors_total", 1.0).await;
    by_hand(&url).await.execute("SELECT pg_promote()", &[]).await.expect("promoted");
    // What was kept may be heard before the self-test is done, so by order alone nothing is expected here.
    let mut connected = false;
    while !connected {
        connected = ear.next().await == Heard::Connected;
    }
    mouth.say(1, 2);
    while ear.entry().await != stream(1, 2) {}
    ear.stop().await;
    mouth.stop().await;
}
