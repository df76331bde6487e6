//! How many messages a second the log takes on a durable server or in a file: batches from some writers at once, spread over rooms.
//!
//! `cargo run --release --example append_rate -p store -- POSTGRES_URL`, an empty database, or `-- sqlite:PATH`, a file that is
//! not there yet. A guide to what a machine does, not a gate.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program for people")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::{EventId, Principal, Role, RoomId, RoomKind, UserId};
use futures_util::future::join_all;
use prometheus::Registry;
use store::Store;
use store::accounts::NewUser;
use store::messages::NewMessage;
use store::postgres::{DatabaseSettings, Postgres, migrate};
use store::rooms::NewRoom;
use store::sqlite::Sqlite;

const ROOMS: usize = 50;
const PEOPLE: usize = 20;
const TIME: Duration = Duration::from_secs(5);
/// Writers at once and messages a batch, when none are named.
const RUNS: &[(usize, usize)] = &[(1, 1), (1, 16), (1, 64), (1, 256), (2, 64), (4, 64)];

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(url) = arguments.next() else {
        println!("usage: append_rate POSTGRES_URL|sqlite:PATH [WRITERS BATCH]");
        return;
    };
    let numbers: Vec<usize> = arguments.filter_map(|argument| argument.parse().ok()).collect();
    let runs = if let [writers, batch] = numbers[..] { vec![(writers, batch)] } else { RUNS.to_vec() };
    let store = open(url).await;
    let (people, rooms) = furnish(&*store).await;
    println!("{ROOMS} rooms of {PEOPLE} people");
    for (writers, batch) in runs {
        let mut latencies: Vec<Duration> =
            join_all((0..writers).map(|writer| write(&*store, &people, &rooms, writer, batch)))
                .await
                .concat();
        latencies.sort();
        let messages = latencies.len() * batch;
        let median = latencies[latencies.len() / 2].as_secs_f64() * 1e3;
        let late = latencies[latencies.len() * 99 / 100].as_secs_f64() * 1e3;
        let rate = f64::from(u32::try_from(messages).unwrap_or(u32::MAX)) / TIME.as_secs_f64();
        println!(
            "{writers} writers, {batch:>3} a batch: {rate:>7.0} messages/s, p50 {median:.2} ms, p99 {late:.2} ms"
        );
    }
}

async fn open(url: String) -> Arc<dyn Store> {
    if let Some(path) = url.strip_prefix("sqlite:") {
        return Arc::new(Sqlite::open(Path::new(path), &Registry::new()).expect("a store"));
    }
    let settings = DatabaseSettings::with_url(url);
    migrate(&settings).await.expect("a migrated database");
    Arc::new(Postgres::connect(&settings, &Registry::new()).await.expect("a store"))
}

async fn furnish(store: &dyn Store) -> (Vec<UserId>, Vec<RoomId>) {
    let mut people = Vec::new();
    for n in 0..PEOPLE {
        let id = UserId::new();
        let handle = format!("p{}", id.0.simple()).chars().take(32).collect();
        let display_name = format!("Person {n}");
        let new = NewUser { id, handle, display_name, role: Role::User, password_hash: String::new() };
        people.push(store.create_user(&new).await.expect("a person").id);
    }
    let mut rooms = Vec::new();
    for n in 0..ROOMS {
        let new = NewRoom {
            id: RoomId::new(),
            kind: RoomKind::Group,
            name: Some(format!("Room {n}")),
            creator: people[0],
            members: people[1..].iter().copied().map(Principal::User).collect(),
            key: None,
        };
        rooms.push(store.create_room(&new).await.expect("a room").room);
    }
    (people, rooms)
}

/// Writes one batch after the other for a while; gives how long each took.
async fn write(
    store: &dyn Store,
    people: &[UserId],
    rooms: &[RoomId],
    writer: usize,
    batch: usize,
) -> Vec<Duration> {
    let begin = Instant::now();
    let mut latencies = Vec::new();
    let mut count = writer;
    while begin.elapsed() < TIME {
        let messages: Vec<NewMessage> = (0..batch)
            .map(|_| {
                count += 1;
                message(rooms[count % rooms.len()], people[count % people.len()])
            })
            .collect();
        let started = Instant::now();
        let outcomes = store.append_messages(&messages).await.expect("an answer");
        latencies.push(started.elapsed());
        assert!(outcomes.iter().all(Result::is_ok), "every message is good");
    }
    latencies
}

fn message(room: RoomId, sender: UserId) -> NewMessage {
    let id = EventId::new();
    let nonce = id.to_string();
    let data = format!(
        r#"{{"body":"Shall we meet in the garden at noon, or is it too hot for you?","nonce":"{nonce}","reply_to":null,"mentions":[]}}"#
    );
    NewMessage {
        id,
        room,
        sender: sender.into(),
        nonce: Some(nonce),
        data: data.into(),
        reply_to: None,
        trace: None,
        recipients: Vec::new(),
    }
}
