//! What goes wrong on an open WebSocket: each fault has its answer, and the others go on.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domain::{DeviceId, DeviceKind, EventId, RoomId};
use protocol::Encoding;
use protocol::frame::Cursors;
use protocol::{ClientFrame, ServerFrame};
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;
use uuid::Uuid;

use crate::raw::{BINARY, Raw, TEXT, masked};
use crate::wire::{Wire, stream};
use crate::world::{Person, World, in_both_worlds};

in_both_worlds!(
    nothing_but_a_sign_in_is_taken_first,
    broken_websockets_are_closed_with_the_code_that_says_why,
    wrong_fields_and_foreign_things_are_refused_and_the_connection_stays,
    cursors_that_cannot_be_served_are_answered_with_gap,
    a_session_that_was_taken_over_cannot_be_resumed,
    silent_and_noisy_clients_are_closed,
    too_many_frames_and_too_many_connections_are_refused,
);

/// Somebody who talks at one gateway and somebody who behaves well.
struct Scene {
    world: World,
    alex: Person,
    sam: Person,
    room: RoomId,
    bystander: Wire,
}

impl Scene {
    async fn start(options: ClusterOptions) -> Self {
        let world = World::on(options).await;
        let (alex, sam) = world.alex_and_sam().await;
        let room = alex.room("Lunch", &[&sam]).await;
        let bystander = world.connect_device(&sam, sam.new_device(DeviceKind::Web).await, 1).await;
        Self { world, alex, sam, room, bystander }
    }

    /// The other connection at the same gateway works as before.
    async fn others_go_on(&mut self) {
        let said = self.alex.says(self.room, "still here?").await;
        while self.bystander.event().await.seq < said {}
        self.bystander.ping().await;
    }

    async fn hello(&self) -> Raw {
        Raw::hello(&self.world.cluster.gateway_url(1), &self.sam.api).await
    }

    async fn live(&self) -> Raw {
        Raw::live(&self.world.cluster.gateway_url(1), &self.sam.api, self.sam.device).await
    }
}

async fn nothing_but_a_sign_in_is_taken_first(options: ClusterOptions) {
    let mut scene = Scene::start(options.setting("gateway.identify_timeout", "1s")).await;
    let (room, device) = (scene.room, scene.sam.device);
    let early = [
        json!({ "op": "send", "room_id": room, "body": "Soup?", "nonce": "early" }),
        json!({ "op": "typing", "room_id": room }),
        json!({ "op": "read", "room_id": room, "seq": 1 }),
        json!({ "op": "focus", "room_id": room }),
    ];
    for frame in &early {
        let mut raw = scene.hello().await;
        raw.say(frame).await;
        assert_eq!(raw.closed().await, 4003, "{frame}");
    }
    let began = Instant::now();
    let mut silent = scene.hello().await;
    let mut pinging = scene.hello().await;
    pinging.say(&json!({ "op": "ping" })).await;
    assert_eq!(pinging.json().await["op"], "pong");
    for raw in [&mut silent, &mut pinging] {
        assert_eq!(raw.closed().await, 4003);
    }
    assert!(began.elapsed() >= Duration::from_secs(1));
    for (frame, code) in [
        (&b"rubbish"[..], 4001),
        (b"[]", 4001),
        (b"{}", 4001),
        (br#"{"op":null}"#, 4001),
        (br#"{"op":"ping","op":"ping"}"#, 4001),
        (br#"{"op":"ping"} {"op":"ping"}"#, 4001),
        (b"", 4001),
        (b"\xC3\x28", 1007),
    ] {
        let mut raw = scene.hello().await;
        raw.frame(TEXT, frame).await;
        assert_eq!(raw.closed().await, code, "{}", String::from_utf8_lossy(frame));
    }
    let mut raw = scene.hello().await;
    raw.say(&json!({ "op": "resume", "session_id": Uuid::now_v7(), "cursors": {} })).await;
    assert_eq!(raw.closed().await, 4012);

    // What is wrong in a field is said, and may be mended on the same connection.
    let mut raw = scene.hello().await;
    let good = json!({ "op": "identify", "device_id": device });
    for (name, value) in [
        ("device_id", json!(7)),
        ("device_id", json!("desk")),
        ("device_id", json!(null)),
        ("consumer", json!("both")),
        ("colour", json!("red")),
        ("cursors", json!([])),
        ("cursors", json!({ "room:7": 1 })),
        ("cursors", json!({ stream(room): -1 })),
        ("cursors", json!({ stream(room): 1.5 })),
        ("log_epoch", json!("now")),
    ] {
        let mut frame = good.clone();
        frame[name] = value;
        raw.say(&frame).await;
        assert_eq!(raw.error().await["code"], "invalid_field", "{frame}");
    }
    raw.say(&json!({ "op": "identify" })).await;
    assert_eq!(raw.error().await["code"], "invalid_field");
    raw.say(&json!({ "op": "dance" })).await;
    assert_eq!(raw.error().await["code"], "invalid_field");
    raw.say(&json!({ "op": "identify", "device_id": DeviceId::new() })).await;
    assert_eq!(raw.error().await["code"], "not_found");
    raw.say(&good).await;
    assert_eq!(raw.json().await["op"], "ready");
    scene.others_go_on().await;
    let log = scene.alex.api.events(room, &client::api::Range::Newest, None).await.expect("a page");
    assert!(!format!("{log:?}").contains("early"));
}

async fn broken_websockets_are_closed_with_the_code_that_says_why(options: ClusterOptions) {
    let mut scene = Scene::start(options).await;
    let device = scene.sam.device;
    let identify = json!({ "op": "identify", "device_id": device }).to_string();
    let resume = json!({ "op": "resume", "session_id": Uuid::now_v7(), "cursors": {} }).to_string();
    let ping = br#"{"op":"ping"}"#;
    let unmasked = [&[TEXT, ping.len() as u8][..], ping].concat();
    // Announced, never sent: it must not be waited for, nor room be made for it.
    let huge = [&[TEXT, 0xFF][..], &(1_u64 << 40).to_be_bytes(), &[1, 2, 3, 4]].concat();
    let mut fragments = masked(0x01, b"{");
    for _ in 0..1000 {
        fragments.extend(masked(0x00, b" "));
    }
    let mut heavy = masked(0x01, &[b' '; 30_000]);
    for _ in 0..10 {
        heavy.extend(masked(0x00, &[b' '; 30_000]));
    }
    let cases: Vec<(&str, Vec<u8>, u16)> = vec![
        ("a second identify", masked(TEXT, identify.as_bytes()), 4005),
        ("a resume after identify", masked(TEXT, resume.as_bytes()), 4005),
        ("binary in JSON", masked(BINARY, ping), 1003),
        ("rubbish", masked(TEXT, b"rubbish"), 4001),
        ("a number", masked(TEXT, b"7"), 4001),
        ("no UTF-8", masked(TEXT, b"{\"op\":\"\xFF\"}"), 1007),
        ("a frame over the limit", masked(TEXT, &[b' '; 140_000]), 4011),
        ("a frame of a terabyte", huge, 4011),
        ("endless fragments", fragments, 4011),
        ("heavy fragments", heavy, 4011),
        ("an unmasked frame", unmasked, 1002),
        ("a reserved bit", masked(TEXT | 0x40, ping), 1002),
        ("a reserved opcode", masked(0x83, ping), 1002),
        ("a long ping", masked(0x89, &[0; 126]), 1002),
        ("a ping in fragments", masked(0x09, b""), 1002),
        ("a continuation of nothing", masked(0x80, ping), 1002),
        ("a message in a message", [masked(0x01, b"{"), masked(TEXT, ping)].concat(), 1002),
        ("a close of one byte", masked(0x88, &[3]), 1002),
        ("a close with a code that is none", masked(0x88, &999_u16.to_be_bytes()), 1002),
    ];
    for (what, bytes, code) in cases {
        let mut raw = scene.live().await;
        raw.bytes(&bytes).await;
        assert_eq!(raw.closed().await, code, "{what}");
        scene.others_go_on().await;
    }
    // Fragments within the limits, with a ping between, are one frame.
    let mut raw = scene.live().await;
    raw.bytes(&[masked(0x01, b"{\"op\":"), masked(0x89, b"between"), masked(0x80, b"\"ping\"}")].concat())
        .await;
    assert_eq!(raw.next().await, Some((0xA, b"between".to_vec())));
    assert_eq!(raw.json().await["op"], "pong");
    raw.frame(0x88, &1000_u16.to_be_bytes()).await;
    assert_eq!(raw.closed().await, 1000);
    // Text in protobuf.
    let mut proto = scene.world.hello(&scene.sam, 1, Encoding::Proto).await;
    proto.say_text(r#"{"op":"ping"}"#).await;
    assert_eq!(proto.closed().await, 1003);
}

async fn wrong_fields_and_foreign_things_are_refused_and_the_connection_stays(options: ClusterOptions) {
    let mut scene = Scene::start(options).await;
    let robin = scene.world.person(1, "robin").await;
    let foreign = robin.room("Secret", &[]).await;
    let theirs = robin.api.send_message(foreign, &client::api::NewMessage::new("psst")).await.expect("sent");
    let room = scene.room;
    let head = scene.alex.says(room, "Soup?").await;
    scene.bystander.event().await;
    let mut raw = scene.live().await;
    let send = json!({ "op": "send", "room_id": room, "body": "Soup?", "nonce": "bad" });
    let with = |name: &str, value: Value| {
        let mut frame = send.clone();
        frame[name] = value;
        frame
    };
    let limit = 16 * 1024;
    let cases = [
        (with("room_id", json!(7)), "invalid_field"),
        (with("room_id", json!("lunch")), "invalid_field"),
        (with("room_id", json!(null)), "invalid_field"),
        (with("body", json!(7)), "invalid_field"),
        (with("body", json!(["Soup?"])), "invalid_field"),
        (with("body", json!("")), "invalid_field"),
        (with("body", json!(" \n\t")), "invalid_field"),
        (with("body", json!("So\u{0}up")), "invalid_field"),
        (with("body", json!("x".repeat(limit + 1))), "invalid_field"),
        (with("nonce", json!("")), "invalid_field"),
        (with("nonce", json!("n".repeat(65))), "invalid_field"),
        (with("nonce", json!("a b")), "invalid_field"),
        (with("nonce", json!("\u{e9}")), "invalid_field"),
        (with("nonce", json!(7)), "invalid_field"),
        (with("reply_to", json!(EventId::new())), "invalid_field"),
        (with("reply_to", json!(theirs.event.id)), "invalid_field"),
        (with("colour", json!("red")), "invalid_field"),
        (with("room_id", json!(RoomId::new())), "not_found"),
        (with("room_id", json!(foreign)), "not_found"),
        (json!({ "op": "send", "room_id": room, "body": "no nonce" }), "invalid_field"),
        (json!({ "op": "typing", "room_id": foreign }), "not_found"),
        (json!({ "op": "typing" }), "invalid_field"),
        (json!({ "op": "read", "room_id": foreign, "seq": 1 }), "not_found"),
        (json!({ "op": "read", "room_id": room, "seq": head + 1 }), "invalid_field"),
        (json!({ "op": "read", "room_id": room, "seq": -1 }), "invalid_field"),
        (json!({ "op": "read", "room_id": room, "seq": u64::MAX }), "invalid_field"),
        (json!({ "op": "focus", "room_id": foreign }), "not_found"),
        (json!({ "op": "focus", "room_id": room, "idle": "yes" }), "invalid_field"),
        (json!({ "op": "dance", "room_id": room }), "invalid_field"),
        (json!({ "op": "watch" }), "invalid_field"),
    ];
    for (frame, code) in cases {
        raw.say(&frame).await;
        let error = raw.error().await;
        let mut shown = frame.to_string();
        shown.truncate(200);
        assert_eq!(error["code"], code, "{shown}: {error}");
        // Who waits for an answer finds it by its own name for what it sent.
        if frame["op"] == "send" && frame["nonce"].is_string() {
            assert_eq!(error["nonce"], frame["nonce"], "{shown}: {error}");
        }
        assert!(!error["detail"].as_str().unwrap_or_default().is_empty(), "{shown}: {error}");
    }
    // The same field twice; JSON itself does not forbid it.
    let twice = format!(r#"{{"op":"send","room_id":"{room}","body":"a","body":"b","nonce":"bad"}}"#);
    raw.frame(TEXT, twice.as_bytes()).await;
    assert_eq!(raw.error().await["code"], "invalid_field");
    // The longest body that is allowed, on the same connection.
    let longest = "\u{1f957}".repeat(limit / 4);
    raw.say(&json!({ "op": "send", "room_id": room, "body": longest, "nonce": "good" })).await;
    let mut seq = None;
    while seq.is_none() {
        let frame = raw.json().await;
        seq = (frame["op"] == "sent").then(|| frame["seq"].as_u64()).flatten();
    }
    let event = scene.bystander.next_event_is("message.created").await;
    assert_eq!(Some(event.seq), seq, "nothing that was refused is in the log");
    assert_eq!(crate::wire::body(&event), longest);
}

async fn cursors_that_cannot_be_served_are_answered_with_gap(options: ClusterOptions) {
    let mut scene = Scene::start(options).await;
    let (room, device) = (scene.room, scene.sam.device);
    let head = scene.alex.says(room, "Soup?").await;
    let inbox = format!("user:{}", scene.sam.id);
    let epoch = scene.bystander.ready().log_epoch;
    let at = |of_room: u64, of_inbox: u64| {
        let map: BTreeMap<_, _> = [(stream(room), of_room), (inbox.clone(), of_inbox)].into_iter().collect();
        Cursors::try_from(map).expect("cursors")
    };
    let ahead = at(head + 1000, u64::MAX);
    for (gateway, cursors, epoch, gaps) in [
        (1, ahead.clone(), Some(epoch), 2),
        (2, ahead, None, 2),
        (1, at(0, 0), Some(Uuid::now_v7()), 2),
        (2, at(0, 0), Some(epoch), 0),
    ] {
        let mut wire = scene.world.hello(&scene.sam, gateway, Encoding::Json).await;
        wire.identify_from(device, cursors, epoch).await;
        let before = wire.until_live().await;
        let told: Vec<_> = before
            .iter()
            .filter_map(|frame| match frame {
                ServerFrame::Gap(gap) => Some((gap.stream.clone(), gap.floor, gap.head)),
                _ => None,
            })
            .collect();
        assert_eq!(told.len(), gaps, "{told:?}");
        if gaps > 0 {
            assert!(told.contains(&(stream(room), 0, wire.ready().streams[&stream(room)])));
            assert_eq!(before.len(), gaps, "nothing is replayed: {before:?}");
        } else {
            assert!(before.len() as u64 >= head, "everything is replayed");
        }
        // From there on nothing is missing.
        let said = scene.alex.says(room, "Salad?").await;
        let event = wire.event_of("message.created").await;
        assert_eq!((event.seq, said), (wire.ready().streams[&stream(room)] + 1, event.seq));
    }
    scene.others_go_on().await;
}

async fn a_session_that_was_taken_over_cannot_be_resumed(options: ClusterOptions) {
    let scene = Scene::start(options).await;
    let (world, sam, room) = (&scene.world, &scene.sam, scene.room);
    let mut first = world.connect(sam, 1).await;
    let (old, cursors) = (first.ready().session_id, first.cursors());
    // Resumed on the other node while the first lives: that one is replaced.
    let mut second = world.hello(sam, 2, Encoding::Json).await;
    second.resume(old, cursors.clone()).await;
    assert_eq!(second.ready().epoch, first.ready().epoch + 1);
    assert_ne!(second.ready().session_id, old);
    assert_eq!(first.closed().await, 4017);
    let said = scene.alex.says(room, "Soup?").await;
    for gateway in [1, 2] {
        let late = world.hello(sam, gateway, Encoding::Json).await;
        let mut late = late;
        late.say(&ClientFrame::Resume(protocol::frame::Resume {
            session_id: old,
            cursors: cursors.clone(),
            log_epoch: None,
        }))
        .await;
        assert_eq!(late.closed().await, 4012);
    }
    // Somebody else's session is none either.
    let mut alexs = world.hello(&scene.alex, 1, Encoding::Json).await;
    let session_id = second.ready().session_id;
    alexs
        .say(&ClientFrame::Resume(protocol::frame::Resume {
            session_id,
            cursors: Cursors::default(),
            log_epoch: None,
        }))
        .await;
    assert_eq!(alexs.closed().await, 4012);
    second.until_live().await;
    // The cursors are good all the same.
    let mut third = world.hello(sam, 1, Encoding::Json).await;
    third.identify_from(sam.device, cursors, None).await;
    assert_eq!(third.next_event_is("message.created").await.seq, said);
    assert_eq!(second.closed().await, 4017);
}

async fn silent_and_noisy_clients_are_closed(options: ClusterOptions) {
    let mut scene = Scene::start(options.setting("gateway.heartbeat_interval", "400ms")).await;
    let mut silent = scene.live().await;
    let other = scene.sam.new_device(DeviceKind::Web).await;
    let mut answering = Raw::live(&scene.world.cluster.gateway_url(1), &scene.sam.api, other).await;
    let began = Instant::now();
    let beating = async {
        let mut interval = tokio::time::interval(Duration::from_millis(300));
        loop {
            interval.tick().await;
            scene.bystander.ping().await;
        }
    };
    // Pongs of the WebSocket are not what heartbeats are for.
    let ponging = async {
        let mut interval = tokio::time::interval(Duration::from_millis(100));
        while began.elapsed() < Duration::from_millis(1500) {
            interval.tick().await;
            answering.frame(0x8A, b"").await;
        }
        answering.closed().await
    };
    let (silent, answering) = tokio::select! {
        () = beating => unreachable!("it has no end"),
        codes = async { tokio::join!(silent.closed(), ponging) } => codes,
    };
    assert_eq!((silent, answering), (4009, 4009));
    assert!(began.elapsed() >= Duration::from_millis(800), "two may be missed");
    scene.others_go_on().await;
}

async fn too_many_frames_and_too_many_connections_are_refused(options: ClusterOptions) {
    let limited = options
        .setting("gateway.frame_rate", "10")
        .setting("gateway.frame_burst", "20")
        .setting("gateway.max_connections", "3");
    let mut scene = Scene::start(limited).await;
    let mut noisy = scene.live().await;
    for _ in 0..200 {
        noisy.say(&json!({ "op": "ping" })).await;
    }
    assert_eq!(noisy.closed().await, 4008);
    drop(noisy);
    scene.others_go_on().await;

    let open = r#"switchboard_connections{kind="device",role="gateway"}"#;
    scene.world.until_metric("gateway-1", open, |open| open == 1.0).await;
    let url = scene.world.cluster.gateway_url(1);
    // One that has not identified takes a place too.
    let (one, _other) = (scene.live().await, scene.hello().await);
    for _ in 0..5 {
        let ticket = scene.sam.ticket().await;
        let mut refused = Raw::open(&url, &ticket, "").await.expect("an upgrade, for the sake of the code");
        assert_eq!(refused.closed().await, 4013);
    }
    scene.others_go_on().await;
    // The other node has room, if there is one, and here there is when somebody leaves.
    if scene.world.has_many_nodes() {
        scene.world.connect_device(&scene.sam, scene.sam.new_device(DeviceKind::Web).await, 2).await;
    }
    drop(one);
    scene.world.until_metric("gateway-1", open, |open| open == 2.0).await;
    scene.live().await;
}
