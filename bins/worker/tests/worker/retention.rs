//! Several workers at one database.

use std::sync::Arc;
use std::time::Duration;

use domain::{EventId, Role, RoomId, RoomKind, UserId};
use node::RetentionSettings;
use prometheus::Registry;
use store::accounts::NewUser;
use store::log::Range;
use store::messages::NewMessage;
use store::postgres::{DatabaseSettings, Postgres};
use store::retention::TaskRunLimits;
use store::rooms::NewRoom;
use store::{Accounts as _, Log as _, Messages as _, Rooms as _};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use worker::{Retention, RetentionMetrics};

use crate::{database, until};

async fn room_with_messages(store: &Postgres, messages: usize) -> (UserId, RoomId) {
    let alex = NewUser {
        id: UserId::new(),
        handle: testkit::random::handle("alex"),
        display_name: "Alex".into(),
        role: Role::User,
        password_hash: "$argon2id$none".into(),
    };
    store.create_user(&alex).await.expect("a person");
    let room = NewRoom {
        id: RoomId::new(),
        kind: RoomKind::Group,
        name: Some("Garden".into()),
        creator: alex.id,
        members: Vec::new(),
        key: None,
    };
    store.create_room(&room).await.expect("a room");
    let message = |n: usize| NewMessage {
        id: EventId::new(),
        room: room.id,
        sender: alex.id.into(),
        nonce: None,
        data: format!(r#"{{"body":"{n}","nonce":null,"reply_to":null,"mentions":[]}}"#).into(),
        reply_to: None,
        trace: None,
        recipients: Vec::new(),
    };
    let messages: Vec<_> = (0..messages).map(message).collect();
    store.append_messages(&messages).await.expect("an answer");
    (alex.id, room.id)
}

fn removed_events(registry: &Registry) -> u64 {
    let family = registry.gather().into_iter().find(|f| f.name() == "switchboard_retention_removed_total");
    let counters = family.iter().flat_map(prometheus::proto::MetricFamily::get_metric);
    let events = counters.filter(|metric| metric.get_label().iter().any(|label| label.value() == "events"));
    events.map(|metric| metric.get_counter().get_value() as u64).sum()
}

#[tokio::test]
async fn workers_trim_one_log_together_and_each_event_goes_once() {
    let database = database().await;
    let settings = DatabaseSettings::with_url(database.url());
    let store = Arc::new(Postgres::connect(&settings, &Registry::new()).await.expect("connected"));
    let (alex, room) = room_with_messages(&store, 200).await;
    let page = async || {
        let page = store.page(alex.into(), room.into(), Range::After(0), 1000).await;
        page.expect("an answer").expect("a member")
    };
    let head = page().await.head;

    let (stop, mut workers) = (CancellationToken::new(), JoinSet::new());
    let registries = [Registry::new(), Registry::new(), Registry::new()];
    for registry in &registries {
        let day = Duration::from_secs(86_400);
        let task_runs = TaskRunLimits { max_age: day, max_per_task: 0, deliveries: day };
        let retention = RetentionSettings {
            interval: Duration::from_secs(1),
            events_max_per_stream: 10,
            batch: 7,
            ..RetentionSettings::default()
        };
        let metrics = RetentionMetrics::register(registry).expect("a fresh registry");
        workers
            .spawn(Retention::new(Arc::clone(&store) as _, retention, task_runs, metrics).run(stop.clone()));
    }
    let kept = until("trimming", async || Some(page().await).filter(|page| page.floor == head - 10)).await;
    stop.cancel();
    while let Some(ended) = workers.join_next().await {
        ended.expect("ended in order");
    }
    let seqs: Vec<u64> = kept.events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (head - 9..=head).collect::<Vec<_>>());
    assert_eq!(registries.iter().map(removed_events).sum::<u64>(), head - 10);
}
