//! Everything in one process on the embedded database, as whoever has nothing else runs it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use client::api::{NewDevice, NewMessage, Range};
use client::{Api, Credential};
use domain::{DeviceKind, RoomId};
use localpg::tether::{self, OnParentDeath};
use protocol::Encoding;
use rand::Rng as _;
use rustix::process::{Pid, Signal, kill_process};
use testkit::port::Port;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Child;
use tokio::time::timeout;

use crate::program::{program, run};
use crate::wire::{Wire, data};
use crate::world::PATIENCE;

/// Messages of the run that is killed all the time.
const MESSAGES: usize = 10_000;
/// How many are on their way at one time.
const SENDERS: usize = 16;

/// The program, serving what lies in a folder.
pub(crate) struct Alone {
    pub(crate) child: Child,
    greeting: String,
    pub(crate) url: String,
}

impl Alone {
    pub(crate) async fn start(folder: &Path, listen: &Port, arguments: &str) -> Self {
        let admin = Port::reserve();
        let mut command = tether::command(env!("CARGO_BIN_EXE_switchboard"), OnParentDeath::Kill);
        for (name, _) in program("").get_envs() {
            command.env_remove(name);
        }
        command
            .args(arguments.split_whitespace())
            .current_dir(folder)
            .env("SWITCHBOARD__HTTP__LISTEN", listen.addr().to_string())
            .env("SWITCHBOARD__ADMIN__LISTEN", admin.addr().to_string())
            .env("SWITCHBOARD__AUTH__ARGON2_MEMORY_KIB", "64")
            .env("SWITCHBOARD__LOG__FILTER", "warn")
            .env("SWITCHBOARD__SHUTDOWN__SPREAD", "0s")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = tether::spawn(command).await.expect("the program runs");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut greeting = String::new();
        let read = async {
            while !greeting.contains("Ctrl-C") {
                assert!(out.read_line(&mut greeting).await.expect("readable") > 0, "it ended: {greeting}");
            }
        };
        timeout(PATIENCE, read).await.unwrap_or_else(|_| panic!("no greeting"));
        child.stdout = Some(out.into_inner());
        Self { child, greeting, url: format!("http://{}", listen.addr()) }
    }

    /// What stands between two pieces of the greeting.
    fn said(&self, before: &str, after: &str) -> String {
        let (_, rest) =
            self.greeting.split_once(before).unwrap_or_else(|| panic!("{before:?}: {}", self.greeting));
        rest.split_once(after).unwrap_or_else(|| panic!("{after:?}: {rest}")).0.to_owned()
    }

    pub(crate) fn password(&self) -> String {
        self.said("the password of each is ", " (")
    }

    pub(crate) fn room(&self) -> RoomId {
        self.said("/v1/rooms/", "/messages").parse().expect("an id")
    }

    async fn alex(&self) -> Api {
        let api = Api::new(&self.url).expect("a URL");
        api.login("alex", &self.password(), None).await.expect("signed in");
        api
    }

    /// What of the greeting is for a shell.
    fn commands(&self) -> String {
        self.said("asks the agent.\n", "Ctrl-C")
    }

    pub(crate) async fn stop(mut self) {
        let pid = self.child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).expect("it runs");
        kill_process(pid, Signal::TERM).expect("told");
        let ended = timeout(PATIENCE, self.child.wait()).await.expect("in time").expect("its end");
        assert!(ended.success(), "{ended}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_nothing_but_a_folder_answers_as_its_greeting_says() {
    let folder = tempfile::tempdir().expect("a directory");
    let listen = Port::reserve();
    let began = Instant::now();
    let alone = Alone::start(folder.path(), &listen, "").await;
    assert!(alone.greeting.contains("switchboard.db (new)"), "{}", alone.greeting);
    // To be pasted into a shell.
    let mut shell = tokio::process::Command::new("bash");
    shell.args(["-c", &alone.commands()]).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut shell = shell.spawn().expect("bash runs");
    let mut seen = String::new();
    let mut out = shell.stdout.take().expect("piped");
    let answered = async {
        let mut buffer = [0; 4096];
        while !(seen.contains("run.finished") && seen.contains("\"status\":\"succeeded\"")) {
            let read = out.read(&mut buffer).await.expect("readable");
            assert!(read > 0, "it ended: {seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    };
    timeout(PATIENCE, answered).await.expect("the agent answers");
    assert!(began.elapsed() < Duration::from_secs(60));
    // Streamed: in pieces, with what was added.
    let patches =
        seen.lines().filter(|line| line.contains(r#""op":"run""#) && line.contains(r#""ops":"#)).count();
    assert!(patches >= 5, "{seen}");
    drop(out);
    shell.kill().await.expect("killed");
    let (password, room) = (alone.password(), alone.room());
    alone.stop().await;

    let again = Alone::start(folder.path(), &listen, "").await;
    assert!(again.greeting.contains("switchboard.db (found)"), "{}", again.greeting);
    assert_eq!((again.password(), again.room()), (password, room));
    let rooms = again.alex().await.rooms(None).await.expect("rooms").items;
    assert_eq!(rooms.len(), 1);
    assert_eq!(rooms[0].members.len(), 4, "three people and the agent");
    again.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_one_process_on_a_folder_is_alone_there() {
    let folder = tempfile::tempdir().expect("a directory");
    let listen = Port::reserve();
    let alone = Alone::start(folder.path(), &listen, "--no-demo").await;
    assert!(alone.greeting.contains("switchboard user add"), "{}", alone.greeting);
    let on = |arguments: &str| {
        let mut command = program(arguments);
        command.current_dir(folder.path()).env("SWITCHBOARD__AUTH__ARGON2_MEMORY_KIB", "64");
        command
    };
    // Commands work beside it.
    run(on("user add alex --admin")).await.good();
    run(on("user add alex")).await.refused(1, &["taken"]);
    assert!(run(on("nodes")).await.good().out.contains("all "));
    assert!(run(on("keys list")).await.good().out.contains("active"));
    let pid = alone.child.id().expect("it runs");
    run(on("")).await.refused(1, &[&format!("process {pid}"), ".switchboard"]);
    let mut with_others = on("");
    with_others.env("SWITCHBOARD__CLUSTER__MODE", "multi");
    run(with_others).await.refused(2, &["cluster.mode", "multi", "single"]);
    for role in ["api", "gateway", "worker"] {
        run(on(&format!("node {role}"))).await.refused(2, &["database.url", "embedded database serves"]);
    }
    alone.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_one_process_is_backed_up_while_it_is_written_to() {
    let folder = tempfile::tempdir().expect("a directory");
    let listen = Port::reserve();
    let mut alone = Alone::start(folder.path(), &listen, "").await;
    let (api, room, password) = (alone.alex().await, alone.room(), alone.password());
    let first = epoch(&alone).await;
    let writing = {
        let api = api.clone();
        tokio::spawn(async move {
            for n in 0.. {
                if api.send_message(room, &NewMessage::new(format!("{n}"))).await.is_err() {
                    return;
                }
            }
        })
    };
    let before = head(&api, room).await;
    let on = |arguments: &str| {
        let mut command = program(arguments);
        command.current_dir(folder.path());
        command
    };
    let said = run(on("backup copy")).await.good();
    assert!(said.out.contains("looked through") && said.out.contains("-wal would be"), "{said:?}");
    run(on("migrate --new-log-epoch")).await.refused(1, &["process ", "stop it"]);
    let after = head(&api, room).await;
    run(on("backup copy")).await.refused(1, &["copy", "not there yet"]);
    writing.abort();
    alone.child.kill().await.expect("killed");

    // Put back, it is another life of the log, whatever the original died of.
    let (old, copy) = (folder.path().join(".switchboard"), folder.path().join("copy"));
    std::fs::rename(&old, folder.path().join(".switchboard.old")).expect("moved away");
    std::fs::rename(&copy, &old).expect("put back");
    let again = Alone::start(folder.path(), &listen, "").await;
    assert_ne!(epoch(&again).await, first);
    assert_eq!((again.password(), again.room()), (password, room));
    let kept = head(&again.alex().await, room).await;
    assert!((before..=after).contains(&kept), "{before} {kept} {after}");
    again.stop().await;
}

async fn head(api: &Api, room: RoomId) -> u64 {
    api.events(room, &Range::Newest, Some(1)).await.expect("a page").items[0].seq
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_one_process_is_looked_at_by_the_doctor() {
    let home = tempfile::tempdir().expect("a directory");
    let (folder, listen) = (home.path().join(".switchboard"), Port::reserve());
    let looked = async || {
        let mut command = program("doctor");
        command.current_dir(home.path());
        run(command).await
    };
    let alone = Alone::start(home.path(), &listen, "").await;
    let pid = alone.child.id().expect("it runs");
    let beside = looked().await.good().out;
    assert!(beside.contains(&format!("process     {pid} serves it")), "{beside}");
    assert!(beside.contains("looked through") && beside.contains("ok     keys"), "{beside}");
    alone.stop().await;
    let after = looked().await.good().out;
    assert!(after.contains("nobody serves it") && !after.contains("machine"), "{after}");

    std::fs::write(folder.join("switchboard.db.boot"), "another boot").expect("written");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o750)).expect("changed");
    let found = looked().await;
    assert!(found.out.contains("machine     went down") && found.out.contains("chmod 700"), "{found:?}");
    found.refused(1, &["one thing is wrong"]);

    let mut database = std::fs::read(folder.join("switchboard.db")).expect("read");
    // Some pages in the middle, and none of the schema's.
    let middle = database.len() / 2;
    database[middle..middle + 40_960].fill(0x5a);
    std::fs::write(folder.join("switchboard.db"), database).expect("written");
    let found = looked().await;
    assert!(found.out.contains("FAULT  database") && found.out.contains("backup"), "{found:?}");
    found.refused(1, &["2 things are wrong"]);
}

/// What a client is told of the log's life.
async fn epoch(alone: &Alone) -> uuid::Uuid {
    let alex = alone.alex().await;
    let device = NewDevice { kind: DeviceKind::Web, name: "a page".to_owned() };
    let device = alex.add_device(&device).await.expect("a device").id;
    let ticket = Credential::Ticket(alex.ticket().await.expect("a ticket").ticket);
    let gateway = format!("{}/v1/gateway", alone.url.replace("http", "ws"));
    let mut wire = Wire::open(&gateway, &ticket, Encoding::Json).await.expect("the gateway");
    wire.identify(device).await;
    wire.ready().log_epoch
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_one_process_whose_machine_went_down_lets_its_clients_refetch() {
    let folder = tempfile::tempdir().expect("a directory");
    let mark = folder.path().join(".switchboard/switchboard.db.boot");
    let listen = Port::reserve();
    let mut alone = Alone::start(folder.path(), &listen, "").await;
    let first = epoch(&alone).await;
    alone.child.kill().await.expect("killed");

    let mut alone = Alone::start(folder.path(), &listen, "").await;
    assert_eq!(epoch(&alone).await, first, "a process that dies takes nothing with it");
    alone.child.kill().await.expect("killed");
    // As if the machine had been started again since.
    std::fs::write(&mark, "another boot").expect("written");

    let alone = Alone::start(folder.path(), &listen, "").await;
    let second = epoch(&alone).await;
    assert_ne!(second, first);
    alone.stop().await;
    assert!(!mark.exists(), "it was put to rest");

    let alone = Alone::start(folder.path(), &listen, "").await;
    assert_eq!(epoch(&alone).await, second);
    alone.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_of_one_process_that_is_killed_all_the_time_keeps_what_it_acknowledged() {
    let folder = tempfile::tempdir().expect("a directory");
    let listen = Port::reserve();
    let mut alone = Alone::start(folder.path(), &listen, "").await;
    let (api, room) = (alone.alex().await, alone.room());
    let mut acknowledged = Vec::with_capacity(MESSAGES);
    let mut kills = 0;
    for round in 0.. {
        if acknowledged.len() >= MESSAGES {
            break;
        }
        let sending: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let api = api.clone();
                tokio::spawn(async move {
                    let mut seqs = Vec::new();
                    for n in 0.. {
                        let said = NewMessage::new(format!("{round} {sender} {n}"));
                        match api.send_message(room, &said).await {
                            Ok(sent) => seqs.push((sent.event.seq, said.body)),
                            // It is dead.
                            Err(_) => break,
                        }
                    }
                    seqs
                })
            })
            .collect();
        let pause = rand::rng().random_range(100..1500);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        alone.child.kill().await.expect("killed");
        kills += 1;
        for sender in sending {
            acknowledged.extend(sender.await.expect("no panic"));
        }
        alone = Alone::start(folder.path(), &listen, "").await;
    }
    acknowledged.sort_unstable();
    assert!(acknowledged.windows(2).all(|two| two[0].0 < two[1].0), "no number is given twice");
    let mut kept = Vec::new();
    let mut after = 0;
    loop {
        let page = api.events(room, &Range::After(after), Some(1000)).await.expect("a page").items;
        let Some(last) = page.last() else { break };
        assert!(page.iter().zip(after + 1..).all(|(event, seq)| event.seq == seq), "without holes");
        after = last.seq;
        kept.extend(
            page.into_iter().map(|event| (event.seq, data(&event)["body"].as_str().map(str::to_owned))),
        );
    }
    for (seq, body) in &acknowledged {
        let at = kept.binary_search_by_key(seq, |(seq, _)| *seq);
        let (_, found) = &kept[at.unwrap_or_else(|_| panic!("{seq} is lost"))];
        assert_eq!(found.as_ref(), Some(body));
    }
    println!("{} messages acknowledged over {kills} kills: all there, in order", acknowledged.len());
    alone.stop().await;
}
