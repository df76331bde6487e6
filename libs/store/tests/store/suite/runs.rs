//! Runs: asked for, offered, started, ended, cancelled, seen.

use domain::run::Reason;
use domain::{EventKind, Principal, RunId, RunStatus, Sender, SlotSessionId};
use serde_json::json;
use store::Refusal;
use store::agents::AgentSettings;
use store::runs::{NewRun, OpenRun};

use super::consumers::{identify, resume};
use super::people::HOUR;
use super::scene::{NOTIFIED, Scene, finish, holder, new_run, told};
use super::world::{World, assert_whole, data, kinds, message, refused, with_nonce};

const EMPTY: &str = r#"{"items":[]}"#;

pub(crate) async fn a_run_is_offered_with_its_input(world: World) {
    let scene = Scene::new(world, 1).await;
    scene.hold().await;
    let asked = new_run(scene.room, scene.alex, scene.agent);
    let made = scene.store.create_run(&asked).await.expect("a run");
    assert!(made.created);
    assert_eq!(told(&made.events), [("room", "run.created"), ("agent", "run.requested")]);
    assert_eq!(data(&made.events[0]), json!({ "run_id": asked.id, "agent_id": scene.agent }));
    assert_eq!(made.events[0].sender, Sender::User(scene.alex));
    let requested = &made.events[1];
    let input = json!({ "text": "water the garden" });
    assert_eq!(data(requested), json!({ "run_id": asked.id, "room_id": scene.room, "input": input }));
    assert_eq!((requested.seq, requested.sender), (2, Sender::User(scene.alex)));
    let run = made.run;
    assert_eq!(
        (run.id, run.room, run.agent, run.requester),
        (asked.id, scene.room, scene.agent, scene.alex.into())
    );
    assert_eq!(
        (run.status, run.reason, run.error.as_ref()),
        (RunStatus::Queued, Some(Reason::Offered), None)
    );
    assert_eq!((run.epoch, run.version, run.hops, run.attempts, run.cancel_requested), (0, 0, 0, 0, false));
    assert_eq!((run.started_at, run.finished_at), (None, None));
    assert_eq!((&*run.doc.doc, run.doc.version, run.doc.patches.len()), (EMPTY, 0, 0));
    assert_eq!(run.input, asked.input, "as it was given");
    assert_eq!(scene.see(run.id).await, run);
    assert_eq!(scene.heard().await, made.events[1..]);
}

pub(crate) async fn a_run_is_asked_for_once(world: World) {
    let scene = Scene::new(world, 5).await;
    let asked = NewRun { cause: Some("the message".into()), ..new_run(scene.room, scene.alex, scene.agent) };
    let made = scene.store.create_run(&asked).await.expect("a run");
    for again in [asked.clone(), NewRun { id: RunId::new(), ..asked.clone() }] {
        let again = scene.store.create_run(&again).await.expect("the run of then");
        assert_eq!((again.run.id, again.created, again.events), (made.run.id, false, vec![]));
    }
    let without = new_run(scene.room, scene.alex, scene.agent);
    assert!(scene.store.create_run(&without).await.expect("a run").created);
    assert!(!scene.store.create_run(&without).await.expect("the run").created, "by its id");

    let sam = scene.person().await;
    scene.store.add_members(scene.alex, scene.room, &[sam.into()]).await.expect("added");
    let theirs = NewRun { id: RunId::new(), requester: sam.into(), ..asked.clone() };
    assert!(scene.store.create_run(&theirs).await.expect("a run").created, "somebody else's cause is theirs");
    let elsewhere = scene.group(&[scene.alex]).await;
    scene.join(scene.alex, elsewhere, scene.agent).await;
    for stolen in [
        NewRun { id: RunId::new(), room: elsewhere, ..asked.clone() },
        NewRun { id: asked.id, cause: None, requester: sam.into(), ..asked },
    ] {
        assert_eq!(refused(scene.store.create_run(&stolen).await), Refusal::NonceReused);
    }
    assert_eq!(scene.heard().await.len(), 3);
}

pub(crate) async fn only_members_ask_members(world: World) {
    let scene = Scene::new(world, 1).await;
    let (sam, stranger) = (scene.person().await, scene.worker(scene.alex, 1).await);
    let ask = async |run: NewRun| refused(scene.store.create_run(&run).await);
    let (room, agent) = (Refusal::NotFound("room"), Refusal::NotFound("agent"));
    assert_eq!(ask(new_run(scene.room, sam, scene.agent)).await, room);
    assert_eq!(ask(new_run(scene.room, stranger, scene.agent)).await, room);
    assert_eq!(ask(new_run(domain::RoomId::new(), scene.alex, scene.agent)).await, room);
    assert_eq!(ask(new_run(scene.room, scene.alex, stranger)).await, agent);
    assert_eq!(ask(new_run(scene.room, scene.alex, domain::AgentId::new())).await, agent);
    let impostor = Principal::Agent(domain::AgentId(scene.alex.0));
    assert_eq!(ask(new_run(scene.room, impostor, scene.agent)).await, room);
    assert_eq!(scene.heard().await, []);
    scene.store.revoke_agent(scene.alex, scene.agent).await.expect("revoked");
    assert_eq!(ask(new_run(scene.room, scene.alex, scene.agent)).await, agent);
    scene.disable(scene.alex).await;
    assert_eq!(ask(new_run(scene.room, scene.alex, scene.agent)).await, room);
}

pub(crate) async fn chains_of_agents_end(world: World) {
    let scene = Scene::new(world, 9).await;
    let other = scene.worker(scene.alex, 9).await;
    scene.join(scene.alex, scene.room, other).await;
    let chain = async |requester: domain::AgentId, agent| {
        let asked = NewRun { max_hops: 2, ..new_run(scene.room, requester, agent) };
        scene.store.create_run(&asked).await.map(|made| made.run.hops)
    };
    assert_eq!(scene.run().await.hops, 0);
    assert_eq!(chain(scene.agent, other).await.expect("a run"), 1);
    assert_eq!(chain(other, scene.agent).await.expect("a run"), 2);
    let too_long = refused(chain(scene.agent, other).await);
    assert!(matches!(too_long, Refusal::Conflict(_)), "{too_long:?}");

    // Once the longest is over it counts for a minute still; in another room it never did.
    let slot = scene.hold().await;
    for run in scene.store.open_runs(scene.alex).await.expect("a list") {
        if scene.see(run.run).await.agent == scene.agent {
            scene.start(&slot, run.run).await;
            let done = finish(holder(run.run, slot.session, 1), RunStatus::Succeeded);
            scene.store.finish_run(&done).await.expect("finished");
        }
    }
    assert!(matches!(refused(chain(scene.agent, other).await), Refusal::Conflict(_)));
    let elsewhere = scene.group(&[scene.alex]).await;
    for agent in [scene.agent, other] {
        scene.join(scene.alex, elsewhere, agent).await;
    }
    let asked = new_run(elsewhere, scene.agent, other);
    assert_eq!(scene.store.create_run(&asked).await.expect("a run").run.hops, 1);
}

pub(crate) async fn places_are_given_in_turn(world: World) {
    let scene = Scene::new(world, 2).await;
    let [one, two, three, four] = scene.runs().await;
    let reasons = async || {
        let mut reasons = Vec::new();
        for run in [&one, &two, &three, &four] {
            let seen = scene.see(run.id).await;
            reasons.push((seen.status.as_str(), seen.reason.map(Reason::as_str)));
        }
        reasons
    };
    let (told, waits) = (("queued", Some("agent_offline")), ("queued", Some("agent_busy")));
    assert_eq!(reasons().await, [told, told, waits, waits]);
    // A consumer that is new is told again of what was told before it came.
    let slot = scene.hold().await;
    let told = ("queued", Some("offered"));
    assert_eq!(reasons().await, [told, told, waits, waits]);
    let early = refused(scene.store.start_run(slot.session, three.id, HOUR).await);
    assert!(matches!(early, Refusal::Conflict(_)), "{early:?}");

    scene.start(&slot, two.id).await;
    assert_eq!(reasons().await, [told, ("running", None), waits, waits], "a started run keeps its place");
    let (_, events) =
        scene.finish(holder(two.id, slot.session, 1), RunStatus::Succeeded).await.expect("done");
    assert_eq!(super::scene::told(&events), [("room", "run.finished"), ("agent", "run.requested"), NOTIFIED]);
    assert_eq!(data(&events[1])["run_id"], three.id.to_string());
    let (_, events) = scene.cancel(one.id).await.expect("cancelled");
    assert_eq!(data(&events[1])["run_id"], four.id.to_string());
    let (_, events) = scene.cancel(four.id).await.expect("cancelled");
    assert_eq!(super::scene::told(&events), [("room", "run.finished")], "nobody is left");
    assert_eq!(scene.heard().await.len(), 2 + 4, "each was told once");
    assert_whole(&scene.page(scene.alex, scene.room).await);
}

pub(crate) async fn a_message_asks_agents(world: World) {
    let scene = Scene::new(world, 1).await;
    let (busy, stranger) = (scene.worker(scene.alex, 1).await, scene.worker(scene.alex, 1).await);
    scene.join(scene.alex, scene.room, busy).await;
    scene.requested(scene.room, scene.alex, busy).await;
    let said = with_nonce(message(scene.room, scene.alex, "please"), "n");
    let cause = Some(said.id.to_string());
    let runs = [scene.agent, busy, stranger]
        .map(|agent| NewRun { cause: cause.clone(), ..new_run(scene.room, scene.alex, agent) });
    let asked = scene.store.append_request(&said, &runs).await.expect("sent");
    assert!(asked.appended.fresh);
    assert_eq!(asked.runs, [runs[0].id, runs[1].id]);
    assert_eq!(asked.refused, [(stranger, Refusal::NotFound("agent"))]);
    assert_eq!(
        told(&asked.events),
        [
            ("room", "message.created"),
            ("agent", "message.created"),
            ("room", "run.created"),
            ("agent", "message.created"),
            ("room", "run.created"),
            ("agent", "run.requested"),
        ]
    );
    assert_eq!(asked.events[0], asked.appended.event);
    for copy in [&asked.events[1], &asked.events[3]] {
        assert_eq!((&copy.data, copy.sender), (&said.data, Sender::User(scene.alex)));
    }
    assert_eq!(asked.events[5].stream, scene.agent.into(), "the other is busy");
    assert_eq!(scene.see(runs[1].id).await.reason, Some(Reason::AgentBusy));

    let repeated = [NewRun { id: RunId::new(), ..runs[0].clone() }];
    let again = scene.store.append_request(&said, &repeated).await.expect("sent before");
    assert_eq!((again.appended.fresh, again.appended.event), (false, asked.appended.event));
    assert_eq!((again.events, again.runs, again.refused), (vec![], vec![], vec![]));

    let outsider = message(scene.room, scene.person().await, "please");
    let refusal = refused(scene.store.append_request(&outsider, &runs).await);
    assert_eq!(refusal, Refusal::NotFound("room"));
    let page = scene.page(scene.alex, scene.room).await;
    assert_whole(&page);
    assert_eq!(page.head, 3 + 1 + 3, "nothing of it was written");
    let nobody =
        scene.store.append_request(&message(scene.room, scene.alex, "alone"), &[]).await.expect("sent");
    assert_eq!(told(&nobody.events), [("room", "message.created")]);
}

pub(crate) async fn a_run_is_started_by_one_consumer(world: World) {
    let scene = Scene::new(world, 3).await;
    let (main, other) = (scene.hold().await, scene.consumer(scene.agent, "other").await);
    let run = scene.run().await;
    let started = scene.start(&main, run.id).await;
    assert!(started.fresh);
    let seen = started.run;
    assert_eq!((seen.status, seen.reason), (RunStatus::Running, None));
    assert_eq!((seen.epoch, seen.version, seen.attempts), (1, 1, 1));
    assert_eq!((&*seen.doc.doc, seen.doc.version), (EMPTY, 1));
    assert!(seen.started_at.is_some());
    let again = scene.start(&main, run.id).await;
    assert_eq!((again.fresh, again.run), (false, seen.clone()), "the answer was lost");
    let start = async |session, run| refused(scene.store.start_run(session, run, HOUR).await);
    assert!(matches!(start(other.session, run.id).await, Refusal::Conflict(_)), "somebody runs it");
    assert!(matches!(start(SlotSessionId::new(), run.id).await, Refusal::Conflict(_)), "no place");
    assert_eq!(start(main.session, RunId::new()).await, Refusal::NotFound("run"));
    let stranger = scene.worker(scene.alex, 1).await;
    let strange = scene.consumer(stranger, "main").await;
    let offered = scene.run().await;
    assert_eq!(start(strange.session, offered.id).await, Refusal::NotFound("run"), "another agent's");
    let (gone, _) = scene.cancel(offered.id).await.expect("cancelled");
    assert!(matches!(start(main.session, gone.id).await, Refusal::Conflict(_)), "over");
    assert_eq!(scene.store.held_runs(main.session).await.expect("a list"), [seen]);
    assert_eq!(scene.store.held_runs(other.session).await.expect("a list"), []);
}

pub(crate) async fn a_run_ends_with_its_document(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    scene.flush(held, 1, "[1]").await;
    let done = store::runs::FinishRun { base: 2, ..finish(held, RunStatus::Failed) };
    let (run, events) = scene.store.finish_run(&done).await.expect("finished");
    assert_eq!((run.status, run.reason, run.error.as_deref()), (RunStatus::Failed, None, Some("no water")));
    assert_eq!((run.version, run.doc.version, &run.doc.doc, run.doc.patches.len()), (3, 3, &done.doc, 0));
    assert!(run.finished_at.is_some());
    assert_eq!(told(&events), [("room", "run.finished"), NOTIFIED]);
    assert_eq!(events[0].sender, Sender::Agent(scene.agent));
    let body = json!({ "run_id": run.id, "agent_id": scene.agent, "status": "failed" });
    assert_eq!(data(&events[0]), body);
    assert_eq!(scene.see(run.id).await, run);

    let (again, events) = scene.store.finish_run(&done).await.expect("finished before");
    assert_eq!((again, events), (run, vec![]));
    let otherwise = refused(scene.finish(held, RunStatus::Succeeded).await);
    assert!(matches!(otherwise, Refusal::Conflict(_)), "{otherwise:?}");
    let nobody = refused(scene.finish(holder(RunId::new(), held.session, 1), RunStatus::Failed).await);
    assert_eq!(nobody, Refusal::NotFound("run"));
    for status in [RunStatus::Expired, RunStatus::Running] {
        assert!(matches!(refused(scene.finish(held, status).await), Refusal::Invalid("status", _)));
    }
    assert_eq!(scene.store.held_runs(held.session).await.expect("a list"), []);
}

pub(crate) async fn only_its_holder_ends_a_run(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let other = scene.consumer(scene.agent, "other").await;
    for wrong in [
        holder(held.run, other.session, 1),
        holder(held.run, SlotSessionId::new(), 1),
        holder(held.run, held.session, 0),
        holder(held.run, held.session, 2),
    ] {
        let refusal = refused(scene.finish(wrong, RunStatus::Succeeded).await);
        assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}");
    }
    assert_eq!(scene.see(held.run).await.status, RunStatus::Running);
    scene.finish(held, RunStatus::Succeeded).await.expect("finished");
    // The answer is lost with the connection; the consumer comes back and asks again.
    let (slot, ..) = scene.take(&resume(scene.agent, held.session)).await;
    let again = scene.finish(holder(held.run, slot.session, 1), RunStatus::Succeeded).await;
    assert_eq!(again.expect("finished before").1, []);
    let stranger = scene.consumer(scene.worker(scene.alex, 1).await, "main").await;
    let refusal = refused(scene.finish(holder(held.run, stranger.session, 1), RunStatus::Succeeded).await);
    assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}");
}

pub(crate) async fn a_run_is_cancelled(world: World) {
    let scene = Scene::new(world, 1).await;
    let queued = scene.run().await;
    let (run, events) = scene.cancel(queued.id).await.expect("cancelled");
    assert_eq!((run.status, run.reason), (RunStatus::Cancelled, Some(Reason::Cancelled)));
    assert_eq!((told(&events), events[0].sender), (vec![("room", "run.finished")], Sender::User(scene.alex)));
    assert_eq!(scene.cancel(queued.id).await.expect("cancelled before"), (run, vec![]));

    let held = scene.working().await;
    let (run, events) = scene.cancel(held.run).await.expect("asked");
    assert_eq!((run.status, run.cancel_requested), (RunStatus::Running, true));
    assert_eq!(told(&events), [("agent", "run.cancel_requested")]);
    assert_eq!(data(&events[0]), json!({ "run_id": held.run, "room_id": scene.room }));
    assert_eq!(scene.cancel(held.run).await.expect("asked before"), (run, vec![]));
    let (run, events) = scene.finish(held, RunStatus::Succeeded).await.expect("finished");
    assert_eq!((run.status, run.reason), (RunStatus::Cancelled, Some(Reason::Cancelled)));
    assert_eq!(data(&events[0])["status"], "cancelled", "nobody wanted it any more");
    assert_eq!(scene.finish(held, RunStatus::Succeeded).await.expect("finished before"), (run, vec![]));

    let done = scene.run().await;
    let slot = scene.hold().await;
    scene.start(&slot, done.id).await;
    scene.finish(holder(done.id, slot.session, 1), RunStatus::Succeeded).await.expect("finished");
    assert!(matches!(refused(scene.cancel(done.id).await), Refusal::Conflict(_)));
}

pub(crate) async fn few_may_cancel(world: World) {
    let scene = Scene::new(world, 9).await;
    let [sam, robin, outsider] = scene.people().await;
    scene.store.add_members(scene.alex, scene.room, &[sam.into(), robin.into()]).await.expect("added");
    let (theirs, other) = (scene.worker(robin, 9).await, scene.worker(outsider, 9).await);
    for agent in [theirs, other] {
        scene.join(scene.alex, scene.room, agent).await;
    }
    let cancel = async |actor: Principal, run| scene.store.cancel_run(actor, run).await.map(drop);
    let asked = async || scene.requested(scene.room, sam, other).await.run.id;
    let run = asked().await;
    assert_eq!(refused(cancel(robin.into(), run).await), Refusal::Forbidden);
    assert_eq!(refused(cancel(theirs.into(), run).await), Refusal::Forbidden);
    assert_eq!(refused(cancel(scene.person().await.into(), run).await), Refusal::NotFound("run"));
    assert_eq!(refused(cancel(scene.alex.into(), RunId::new()).await), Refusal::NotFound("run"));
    let impostor = Principal::Agent(domain::AgentId(sam.0));
    assert_eq!(refused(cancel(impostor, run).await), Refusal::NotFound("run"));
    cancel(sam.into(), run).await.expect("who asked for it");
    cancel(scene.alex.into(), asked().await).await.expect("an owner of the room");
    cancel(other.into(), asked().await).await.expect("the agent");
    cancel(outsider.into(), asked().await).await.expect("its owner, who is not in the room");
    let run = asked().await;
    scene.store.remove_member(scene.alex, scene.room, sam.into()).await.expect("removed");
    assert_eq!(refused(cancel(sam.into(), run).await), Refusal::NotFound("run"), "who asked is gone");
}

pub(crate) async fn runs_are_seen_in_their_room(world: World) {
    let scene = Scene::new(world, 1).await;
    let sam = scene.person().await;
    let runs: [_; 5] = scene.runs().await;
    let elsewhere = scene.group(&[scene.alex]).await;
    scene.join(scene.alex, elsewhere, scene.agent).await;
    scene.requested(elsewhere, scene.alex, scene.agent).await;
    let list = async |reader: Principal, before, limit| {
        let page = scene.store.runs_of_room(reader, scene.room, before, limit).await.expect("an answer");
        page.map(|page| page.iter().map(|run| run.id).collect::<Vec<_>>())
    };
    let newest: Vec<RunId> = runs.iter().rev().map(|run| run.id).collect();
    assert_eq!(list(scene.alex.into(), None, 3).await, Some(newest[..3].to_vec()));
    assert_eq!(list(scene.alex.into(), Some(newest[2]), 3).await, Some(newest[3..].to_vec()));
    assert_eq!(list(scene.agent.into(), Some(newest[4]), 3).await, Some(vec![]));
    assert_eq!(list(sam.into(), None, 3).await, None);
    assert_eq!(scene.store.run(sam.into(), newest[0]).await.expect("an answer"), None);
    assert_eq!(scene.store.run(scene.alex.into(), RunId::new()).await.expect("an answer"), None);
    let seen = scene.store.run(scene.agent.into(), newest[0]).await.expect("an answer");
    assert_eq!(seen.map(|run| run.id), Some(newest[0]));

    scene.cancel(newest[0]).await.expect("cancelled");
    let open = scene.store.open_runs(scene.alex).await.expect("a list");
    assert_eq!(open.len(), 5);
    assert!(open.contains(&OpenRun { run: newest[1], room: scene.room }));
    assert!(!open.iter().any(|open| open.run == newest[0]), "that one is over");
    assert_eq!(scene.store.open_runs(sam).await.expect("a list"), []);
}

pub(crate) async fn who_takes_a_place_has_the_runs_handed_back(world: World) {
    let scene = Scene::new(world, 3).await;
    let slot = scene.hold().await;
    let [worked, unwanted, queued, waits] = scene.runs().await;
    for run in [&worked, &unwanted] {
        scene.start(&slot, run.id).await;
    }
    scene.flush(holder(worked.id, slot.session, 1), 1, "[1]").await;
    scene.cancel(unwanted.id).await.expect("asked");
    let seen = scene.page(scene.agent, scene.agent).await.head;
    scene.store.ack(slot.session, seen).await.expect("read");
    assert_eq!(scene.see(waits.id).await.reason, Some(Reason::AgentBusy));

    let (taken, events, runs) = scene.take(&identify(scene.agent, "main")).await;
    assert_eq!((taken.epoch, taken.cursor, taken.contested), (2, seen, true));
    assert_eq!(runs, [worked.id, unwanted.id]);
    assert_eq!(
        told(&events),
        [
            ("agent", "run.requested"),
            ("room", "run.finished"),
            ("agent", "run.requested"),
            ("agent", "run.requested")
        ]
    );
    let asked: Vec<_> = [0, 2, 3].map(|at| data(&events[at])["run_id"].clone()).to_vec();
    // The one that was offered and never started was read by nobody who is left.
    assert_eq!(asked, [worked.id, waits.id, queued.id].map(|id| json!(id)));
    let back = scene.see(worked.id).await;
    assert_eq!((back.status, back.reason), (RunStatus::Queued, Some(Reason::HandedBack)));
    assert_eq!((back.epoch, back.version, back.attempts), (1, 2, 0), "the attempt does not count");
    let over = scene.see(unwanted.id).await;
    assert_eq!((over.status, over.reason), (RunStatus::Cancelled, Some(Reason::Cancelled)));
    assert_eq!(scene.see(waits.id).await.reason, Some(Reason::Offered));

    for (holder, what) in
        [(holder(worked.id, slot.session, 1), "former"), (holder(worked.id, taken.session, 1), "new")]
    {
        assert_eq!(scene.flush(holder, 2, "[2]").await, store::runs::PatchOutcome::Lost, "{what}");
    }
    let again = scene.start(&taken, worked.id).await.run;
    assert_eq!((again.epoch, again.version, again.attempts), (2, 3, 1));
    assert_eq!((&*again.doc.doc, again.doc.version, again.doc.patches.len()), (EMPTY, 3, 0));
    assert_eq!(again.started_at, back.started_at, "since it was first started");
}

pub(crate) async fn who_resumes_goes_on(world: World) {
    let scene = Scene::new(world, 2).await;
    let held = scene.working().await;
    let untouched = scene.run().await;
    scene.flush(held, 1, "[1]").await;
    let attempt = resume(scene.agent, held.session);
    let (slot, events, runs) = scene.take(&attempt).await;
    assert_eq!((events, runs), (vec![], vec![held.run]));
    let again = scene.take(&attempt).await;
    assert_eq!((again.0.session, again.1, again.2), (slot.session, vec![], vec![held.run]));
    assert_eq!(
        scene.flush(held, 2, "[2]").await,
        store::runs::PatchOutcome::Lost,
        "it is the former session"
    );
    let now = holder(held.run, slot.session, 1);
    assert_eq!(scene.flush(now, 2, "[2]").await, store::runs::PatchOutcome::Written(3));
    let runs = scene.store.held_runs(slot.session).await.expect("a list");
    assert_eq!(
        runs.iter().map(|run| (run.id, run.attempts, run.doc.patches.len())).collect::<Vec<_>>(),
        [(held.run, 1, 2)]
    );
    assert_eq!(scene.see(untouched.id).await.reason, Some(Reason::Offered));
    scene.finish(now, RunStatus::Succeeded).await.expect("finished");
}

pub(crate) async fn a_new_consumer_hears_of_offered_runs(world: World) {
    let scene = Scene::new(world, 2).await;
    let [one, two, _] = scene.runs().await;
    let (slot, events, runs) = scene.take(&identify(scene.agent, "main")).await;
    assert_eq!((slot.cursor, runs), (3, vec![]));
    let ids: Vec<_> = events.iter().map(|event| data(event)["run_id"].clone()).collect();
    assert_eq!(ids, [json!(one.id), json!(two.id)], "what it begins after would be lost");
    let (slot, events, _) = scene.take(&identify(scene.agent, "main")).await;
    assert_eq!((slot.cursor, events), (3, vec![]), "it will read them yet");
    scene.store.ack(slot.session, 4).await.expect("read");
    let (_, events, _) = scene.take(&identify(scene.agent, "main")).await;
    let ids: Vec<_> = events.iter().map(|event| data(event)["run_id"].clone()).collect();
    assert_eq!(ids, [json!(one.id)], "read, and never started");
    let kinds: Vec<_> = scene.heard().await.iter().map(|event| event.kind.clone()).collect();
    assert_eq!(kinds, vec![EventKind::RunRequested; 5]);
}

pub(crate) async fn more_places_are_given_at_once(world: World) {
    let scene = Scene::new(world, 1).await;
    let [one, two, three] = scene.runs().await;
    let settings = |max_runs| AgentSettings { display_name: None, max_runs: Some(max_runs) };
    let set = async |max_runs| {
        let changed = scene.store.set_agent_settings(scene.alex, scene.agent, &settings(max_runs)).await;
        changed.expect("changed").1
    };
    let events = set(2).await;
    assert_eq!(told(&events), [("agent", "run.requested")]);
    assert_eq!(data(&events[0])["run_id"], two.id.to_string());
    assert_eq!(set(2).await, []);
    assert_eq!(set(1).await, [], "what was given is not taken back");
    scene.cancel(one.id).await.expect("cancelled");
    assert_eq!(scene.see(three.id).await.reason, Some(Reason::AgentBusy), "one is enough now");
    assert_eq!(set(9).await.len(), 1);
}

pub(crate) async fn a_revoked_agent_ends_its_runs(world: World) {
    let scene = Scene::new(world, 2).await;
    let held = scene.working().await;
    let elsewhere = scene.group(&[scene.alex]).await;
    scene.join(scene.alex, elsewhere, scene.agent).await;
    let offered = scene.requested(elsewhere, scene.alex, scene.agent).await.run;
    let waits = scene.run().await;
    let (_, events) = scene.store.revoke_agent(scene.alex, scene.agent).await.expect("revoked");
    assert_eq!(kinds(&events), ["run.finished"; 3]);
    assert!(events.iter().all(|event| event.sender == Sender::User(scene.alex)));
    for run in [held.run, offered.id, waits.id] {
        let seen = scene.see(run).await;
        assert_eq!((seen.status, seen.reason), (RunStatus::Cancelled, Some(Reason::AgentRevoked)));
    }
    assert_eq!(scene.flush(held, 1, "[]").await, store::runs::PatchOutcome::Lost);
    assert!(matches!(refused(scene.finish(held, RunStatus::Succeeded).await), Refusal::Conflict(_)));
    assert_eq!(scene.store.revoke_agent(scene.alex, scene.agent).await.expect("revoked before").1, []);
}

pub(crate) async fn an_agent_that_is_removed_ends_its_runs_there(world: World) {
    let scene = Scene::new(world, 1).await;
    let elsewhere = scene.group(&[scene.alex]).await;
    scene.join(scene.alex, elsewhere, scene.agent).await;
    let held = scene.working().await;
    let (waits, other) = (scene.run().await, scene.requested(elsewhere, scene.alex, scene.agent).await.run);
    let remove = || scene.store.remove_member(scene.alex, scene.room, scene.agent.into());
    let events = remove().await.expect("removed");
    let expected = ["run.finished", "run.finished", "run.requested", "member.left", "room.removed"];
    assert_eq!(kinds(&events), expected);
    assert_eq!(data(&events[2])["run_id"], other.id.to_string(), "the place is free for another room's");
    assert_eq!(data(&events[4])["seq"], events[3].seq, "it is given the room up to its leaving");
    for run in [held.run, waits.id] {
        let seen = scene.see(run).await;
        assert_eq!((seen.status, seen.reason), (RunStatus::Cancelled, Some(Reason::AgentRevoked)));
    }
    assert_eq!(remove().await.expect("gone before"), []);
    assert_whole(&scene.page(scene.alex, scene.room).await);
}

pub(crate) async fn a_deleted_message_leaves_no_text_with_agents(world: World) {
    let scene = Scene::new(world, 2).await;
    let other = scene.worker(scene.alex, 1).await;
    scene.join(scene.alex, scene.room, other).await;
    let said = message(scene.room, scene.alex, "secret");
    let runs = [scene.agent, other]
        .map(|agent| NewRun { input: r#""secret""#.into(), ..new_run(scene.room, scene.alex, agent) });
    let asked = scene.store.append_request(&said, &runs).await.expect("sent");
    let kept = scene.requested(scene.room, scene.alex, scene.agent).await.run;
    // Told of once more, to whoever takes the place of one who read it.
    let slot = scene.hold().await;
    scene.start(&slot, runs[0].id).await;
    scene.hold().await;
    let told = async |agent| {
        let events = scene.inbox(agent).await;
        events.iter().filter(|event| event.data.contains("secret")).count()
    };
    assert_eq!((told(scene.agent).await, told(other).await), (4, 2));
    scene
        .store
        .delete_message(scene.alex.into(), scene.room, asked.appended.event.id)
        .await
        .expect("deleted");
    assert_eq!((told(scene.agent).await, told(other).await), (0, 0));
    for run in &runs {
        assert_eq!(&*scene.see(run.id).await.input, "null");
    }
    assert_eq!(scene.see(kept.id).await.input, kept.input, "another one is left alone");
    let heard = scene.heard().await;
    assert_eq!(data(&heard[0])["deleted"], true);
    assert_eq!(data(&heard[1]), json!({ "run_id": runs[0].id, "room_id": scene.room, "input": null }));
    assert!(data(&heard[2])["input"]["text"].is_string());
    // What is told of it later has nothing to say any more.
    let slot = scene.hold().await;
    scene.start(&slot, runs[0].id).await;
    let (_, events, _) = scene.take(&identify(scene.agent, "main")).await;
    assert_eq!(data(&events[0])["input"], json!(null));
    assert_whole(&scene.page(scene.agent, scene.agent).await);
}
