//! Calls of tools in somebody's browser.

use std::sync::Arc;
use std::time::Duration;

use domain::run::Reason;
use domain::{EventKind, RunId, RunStatus, Sender, SlotSessionId, ToolCallId, UserId};
use futures_util::future::{join, join_all};
use serde_json::json;
use store::runs::{Holder, PatchOutcome, RescueRules};
use store::tools::{NewToolCall, Resolution, ToolCall, ToolStatus};
use store::{Refusal, StoreError};

use super::consumers::{identify, resume};
use super::people::HOUR;
use super::scene::{NOTIFIED, PATIENT, Scene, holder, told};
use super::world::{World, assert_whole, data, refused};

pub(crate) fn new_call(scene: &Scene, held: Holder, user: UserId) -> NewToolCall {
    NewToolCall {
        id: ToolCallId::new(),
        run: held.run,
        agent: scene.agent,
        session: Some(held.session),
        epoch: Some(held.epoch),
        user,
        tool: "locate".into(),
        args: r#"{ "precise": true }"#.into(),
        timeout: HOUR,
        nonce: None,
    }
}

pub(crate) async fn called(scene: &Scene, held: Holder) -> ToolCall {
    call(scene, &new_call(scene, held, scene.alex)).await
}

pub(crate) async fn call(scene: &Scene, new: &NewToolCall) -> ToolCall {
    let (call, events) = scene.store.call_tool(new).await.expect("a call");
    assert_eq!(told(&events), [("user", "tool.called"), NOTIFIED]);
    call
}

pub(crate) fn answer(call: ToolCallId, user: UserId, text: &str) -> Resolution {
    Resolution { call, user, outcome: Ok(text.into()) }
}

async fn status(scene: &Scene, call: ToolCallId) -> ToolStatus {
    scene.store.tool_call(call).await.expect("an answer").expect("a call").status
}

async fn stands(scene: &Scene, run: RunId) -> (RunStatus, Option<Reason>) {
    let seen = scene.see(run).await;
    (seen.status, seen.reason)
}

const WAITING: (RunStatus, Option<Reason>) = (RunStatus::Waiting, Some(Reason::ToolCall));
const RUNNING: (RunStatus, Option<Reason>) = (RunStatus::Running, None);

pub(crate) async fn a_call_is_made_and_answered(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let new = new_call(&scene, held, scene.alex);
    let (call, events) = scene.store.call_tool(&new).await.expect("a call");
    assert_eq!((call.id, call.run, call.room, call.agent), (new.id, held.run, scene.room, scene.agent));
    assert_eq!((call.user, &*call.tool, &call.args), (scene.alex, "locate", &new.args));
    assert_eq!((call.status, &call.result, &call.error), (ToolStatus::Pending, &None, &None));
    assert_eq!(
        (told(&events), events[0].sender),
        (vec![("user", "tool.called"), NOTIFIED], Sender::Agent(scene.agent))
    );
    let body = json!({
        "call_id": call.id, "run_id": held.run, "room_id": scene.room, "agent_id": scene.agent,
        "tool": "locate", "args": { "precise": true }, "deadline": format!("{:.6}", call.deadline),
    });
    assert_eq!(data(&events[0]), body);
    assert_eq!(scene.store.tool_call(call.id).await.expect("an answer"), Some(call.clone()));
    assert_eq!(scene.store.pending_tools(scene.alex).await.expect("a list"), std::slice::from_ref(&call));
    assert_eq!(stands(&scene, held.run).await, WAITING);
    assert_eq!(scene.flush(held, 1, "[]").await, PatchOutcome::Written(2), "it may write while it waits");

    let resolution = answer(call.id, scene.alex, r#"{ "at": "home" }"#);
    let (resolved, events) = scene.store.resolve_tool(&resolution).await.expect("answered");
    let result: Arc<str> = r#"{ "at": "home" }"#.into();
    let expected = ToolCall { status: ToolStatus::Answered, result: Some(result), ..call.clone() };
    assert_eq!(resolved, expected);
    assert_eq!(told(&events), [("agent", "tool.resolved"), ("user", "tool.resolved")]);
    let body = json!({
        "call_id": call.id, "run_id": held.run, "status": "answered", "result": { "at": "home" }, "error": null,
    });
    for event in &events {
        assert_eq!((data(event), event.sender), (body.clone(), Sender::User(scene.alex)));
    }
    assert_eq!(stands(&scene, held.run).await, RUNNING);
    assert_eq!(scene.store.pending_tools(scene.alex).await.expect("a list"), []);
    assert!(matches!(refused(scene.store.resolve_tool(&resolution).await), Refusal::Conflict(_)));
    assert_whole(&scene.page(scene.alex, scene.alex).await);
    assert_whole(&scene.page(scene.agent, scene.agent).await);

    let failing = called(&scene, held).await;
    let denied = Resolution { outcome: Err("denied".into()), ..answer(failing.id, scene.alex, "") };
    let (failed, events) = scene.store.resolve_tool(&denied).await.expect("answered");
    assert_eq!(
        (failed.status, failed.result, failed.error.as_deref()),
        (ToolStatus::Answered, None, Some("denied"))
    );
    assert_eq!(
        (data(&events[0])["error"].clone(), data(&events[0])["result"].clone()),
        (json!("denied"), json!(null))
    );
}

pub(crate) async fn a_run_waits_for_all_of_its_calls(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let calls = [called(&scene, held).await, called(&scene, held).await];
    let pending = scene.store.pending_tools(scene.alex).await.expect("a list");
    assert_eq!(pending, calls, "the oldest first");
    for (call, after) in calls.iter().zip([WAITING, RUNNING]) {
        scene.store.resolve_tool(&answer(call.id, scene.alex, "1")).await.expect("answered");
        assert_eq!(stands(&scene, held.run).await, after);
    }
}

pub(crate) async fn a_call_is_repeatable(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let new = NewToolCall { nonce: Some("step 1".into()), ..new_call(&scene, held, scene.alex) };
    let first = call(&scene, &new).await;
    let by_nonce = NewToolCall { id: ToolCallId::new(), ..new.clone() };
    let by_id = NewToolCall { nonce: None, ..new.clone() };
    for repeated in [&new, &by_nonce, &by_id] {
        assert_eq!(scene.store.call_tool(repeated).await.expect("the call of then"), (first.clone(), vec![]));
    }
    scene.store.resolve_tool(&answer(first.id, scene.alex, "1")).await.expect("answered");
    let (again, events) = scene.store.call_tool(&by_nonce).await.expect("the call of then");
    assert_eq!((again.status, events), (ToolStatus::Answered, vec![]));
    assert_eq!(stands(&scene, held.run).await, RUNNING, "nothing is waited for");

    // Another execution does everything anew.
    let (slot, ..) = scene.take(&identify(scene.agent, "main")).await;
    scene.start(&slot, held.run).await;
    assert!(matches!(refused(scene.store.call_tool(&by_nonce).await), Refusal::Conflict(_)));
    let anew = NewToolCall { session: Some(slot.session), epoch: Some(2), ..by_nonce };
    let anew = call(&scene, &anew).await;
    assert_ne!(anew.id, first.id);
    let stolen = NewToolCall { id: anew.id, ..new_call(&scene, scene.other_run().await, scene.alex) };
    assert!(matches!(refused(scene.store.call_tool(&stolen).await), Refusal::Conflict(_)));
}

impl Scene {
    /// A run of the same agent beside, which has more places from now on.
    async fn other_run(&self) -> Holder {
        let settings = store::agents::AgentSettings { display_name: None, max_runs: Some(9) };
        self.store.set_agent_settings(self.alex, self.agent, &settings).await.expect("changed");
        let slot = self.consumer(self.agent, "other").await;
        let run = self.run().await;
        self.start(&slot, run.id).await;
        holder(run.id, slot.session, 1)
    }
}

pub(crate) async fn only_who_works_on_a_run_calls(world: World) {
    let scene = Scene::new(world, 1).await;
    let queued = scene.run().await;
    let call = async |new: NewToolCall| refused(scene.store.call_tool(&new).await);
    let by_rest = |run| NewToolCall {
        session: None,
        epoch: None,
        ..new_call(&scene, holder(run, SlotSessionId::new(), 0), scene.alex)
    };
    assert!(matches!(call(by_rest(queued.id)).await, Refusal::Conflict(_)), "nobody works on it");
    scene.cancel(queued.id).await.expect("cancelled");
    assert!(matches!(call(by_rest(queued.id)).await, Refusal::Conflict(_)), "it is over");
    assert_eq!(call(by_rest(RunId::new())).await, Refusal::NotFound("run"));

    let held = scene.working().await;
    let other = scene.consumer(scene.agent, "other").await;
    let good = || new_call(&scene, held, scene.alex);
    for wrong in [
        NewToolCall { session: Some(other.session), ..good() },
        NewToolCall { epoch: Some(0), ..good() },
        NewToolCall { epoch: Some(2), ..good() },
    ] {
        assert!(matches!(call(wrong).await, Refusal::Conflict(_)));
    }
    let strange = NewToolCall { agent: scene.worker(scene.alex, 1).await, ..good() };
    assert_eq!(call(strange).await, Refusal::NotFound("run"));
    let sam = scene.person().await;
    let person = Refusal::NotFound("person");
    for nobody in [sam, UserId::new(), UserId(scene.agent.0)] {
        assert_eq!(call(NewToolCall { user: nobody, ..good() }).await, person);
    }
    assert_eq!(stands(&scene, held.run).await, RUNNING, "nothing was written");
    scene.store.add_members(scene.alex, scene.room, &[sam.into()]).await.expect("added");
    let (made, _) = scene.store.call_tool(&by_rest(held.run)).await.expect("a call");
    assert_eq!(made.status, ToolStatus::Pending);
    scene.store.call_tool(&NewToolCall { user: sam, ..good() }).await.expect("a call");
    assert_eq!(scene.store.pending_tools(sam).await.expect("a list").len(), 1);
}

pub(crate) async fn only_who_is_asked_answers(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let sam = scene.person().await;
    scene.store.add_members(scene.alex, scene.room, &[sam.into()]).await.expect("added");
    let call = called(&scene, held).await;
    for user in [sam, UserId::new(), UserId(scene.agent.0)] {
        let refusal = refused(scene.store.resolve_tool(&answer(call.id, user, "1")).await);
        assert_eq!(refusal, Refusal::Forbidden);
    }
    assert_eq!(status(&scene, call.id).await, ToolStatus::Pending);
    assert_eq!(scene.page(sam, sam).await.head, 1, "no trace of it");
    let nothing = answer(ToolCallId::new(), scene.alex, "1");
    assert_eq!(refused(scene.store.resolve_tool(&nothing).await), Refusal::NotFound("tool call"));
    assert_eq!(scene.store.tool_call(ToolCallId::new()).await.expect("an answer"), None);
    scene.store.resolve_tool(&answer(call.id, scene.alex, "1")).await.expect("answered");
    let late = refused(scene.store.resolve_tool(&answer(call.id, sam, "1")).await);
    assert_eq!(late, Refusal::Forbidden, "also when it is over");
}

pub(crate) async fn calls_expire(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    let quick = NewToolCall { timeout: Duration::ZERO, ..new_call(&scene, held, scene.alex) };
    let late = call(&scene, &quick).await;
    let patient = called(&scene, held).await;
    assert_eq!(scene.store.pending_tools(scene.alex).await.expect("a list"), std::slice::from_ref(&patient));
    let refusal = refused(scene.store.resolve_tool(&answer(late.id, scene.alex, "1")).await);
    assert!(matches!(refusal, Refusal::Conflict(_)), "its time is over, whoever noted it");
    let (expired, events) = scene.store.expire_tools(10).await.expect("an answer");
    assert_eq!(expired, [ToolCall { status: ToolStatus::Expired, ..late.clone() }]);
    assert_eq!(told(&events), [("agent", "tool.resolved"), ("user", "tool.resolved")]);
    assert_eq!((data(&events[0])["status"].clone(), events[0].sender), (json!("expired"), Sender::System));
    assert_eq!(stands(&scene, held.run).await, WAITING, "the other one is pending");
    assert_eq!(scene.store.expire_tools(10).await.expect("an answer"), (vec![], vec![]));
    scene.store.resolve_tool(&answer(patient.id, scene.alex, "1")).await.expect("answered");
    assert_eq!(stands(&scene, held.run).await, RUNNING);
    for _ in 0..5 {
        call(&scene, &NewToolCall { id: ToolCallId::new(), ..quick.clone() }).await;
    }
    for (count, after) in [(3, WAITING), (2, RUNNING), (0, RUNNING)] {
        assert_eq!(scene.store.expire_tools(3).await.expect("an answer").0.len(), count);
        assert_eq!(stands(&scene, held.run).await, after);
    }
}

pub(crate) async fn calls_end_with_their_run(world: World) {
    let scene = Scene::new(world, 1).await;
    let sam = scene.person().await;
    scene.store.add_members(scene.alex, scene.room, &[sam.into()]).await.expect("added");
    let ends = [("agent", "tool.resolved"), ("user", "tool.resolved")];
    let cancelled = async |call: ToolCall, events: Vec<domain::Event>| {
        assert_eq!(told(&events[..2]), ends);
        assert_eq!(events[1].stream, call.user.into());
        assert_eq!(data(&events[1])["status"], "cancelled");
        assert_eq!(status(&scene, call.id).await, ToolStatus::Cancelled);
        assert!(matches!(
            refused(scene.store.resolve_tool(&answer(call.id, call.user, "1")).await),
            Refusal::Conflict(_)
        ));
    };
    // Its holder ends it.
    let held = scene.working().await;
    let call = called(&scene, held).await;
    cancelled(call, scene.finish(held, RunStatus::Succeeded).await.expect("finished").1).await;
    // Somebody takes the place; who resumes does not.
    let held = scene.working().await;
    let (call, _) = scene.store.call_tool(&new_call(&scene, held, sam)).await.expect("a call");
    let (slot, events, _) = scene.take(&resume(scene.agent, held.session)).await;
    assert_eq!((events, status(&scene, call.id).await), (vec![], ToolStatus::Pending));
    let (_, events, _) = scene.take(&identify(scene.agent, "main")).await;
    assert_eq!(told(&events[2..]), [("agent", "run.requested")]);
    cancelled(call, events).await;
    assert!(!scene.store.holds_consumer(slot.session).await.expect("an answer"));
    scene.cancel(held.run).await.expect("cancelled");
    // It takes too long.
    let held = scene.working().await;
    let call = called(&scene, held).await;
    let rescued = scene.rescue(RescueRules { max_runtime: Duration::ZERO, ..PATIENT }).await;
    cancelled(call, rescued.events).await;
    // The agent is revoked.
    let held = scene.working().await;
    let call = called(&scene, held).await;
    cancelled(call, scene.store.revoke_agent(scene.alex, scene.agent).await.expect("revoked").1).await;
}

pub(crate) async fn of_many_answers_one_counts(world: World) {
    let scene = Scene::new(world, 1).await;
    let held = scene.working().await;
    for _ in 0..8 {
        let call = called(&scene, held).await;
        let answers = join_all((0..10).map(|number| {
            let (scene, call) = (scene.clone(), call.id);
            tokio::spawn(async move {
                scene.store.resolve_tool(&answer(call, scene.alex, &number.to_string())).await
            })
        }))
        .await;
        let mut counted = Vec::new();
        for answer in answers {
            match answer.expect("no panic") {
                Ok((call, events)) => {
                    assert_eq!(events.len(), 2);
                    counted.push(call);
                }
                Err(StoreError::Refused(Refusal::Conflict(_))) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        assert_eq!(counted.len(), 1);
        assert_eq!(scene.store.tool_call(call.id).await.expect("an answer"), counted.pop());
    }
    assert_eq!(stands(&scene, held.run).await, RUNNING);
    let resolved = scene.heard().await.iter().filter(|event| event.kind == EventKind::ToolResolved).count();
    assert_eq!(resolved, 8);
}

pub(crate) async fn an_answer_and_an_end_agree(world: World) {
    let scene = Scene::new(world, 1).await;
    for round in 0..16 {
        let held = scene.working().await;
        let timeout = Duration::from_millis(10);
        let call = call(&scene, &NewToolCall { timeout, ..new_call(&scene, held, scene.alex) }).await;
        let (one, other) = (scene.clone(), scene.clone());
        let (answered, ended) = join(
            tokio::spawn(
                async move { one.store.resolve_tool(&answer(call.id, one.alex, "1")).await.is_ok() },
            ),
            tokio::spawn(async move {
                if round % 2 == 0 {
                    let (_, events) = other.finish(held, RunStatus::Succeeded).await.expect("finished");
                    events.iter().any(|event| event.kind == EventKind::ToolResolved)
                } else {
                    while status(&other, call.id).await == ToolStatus::Pending {
                        other.store.expire_tools(10).await.expect("an answer");
                    }
                    status(&other, call.id).await == ToolStatus::Expired
                }
            }),
        )
        .await;
        let (answered, ended) = (answered.expect("no panic"), ended.expect("no panic"));
        assert_ne!(answered, ended, "one of them");
        assert_eq!(status(&scene, call.id).await == ToolStatus::Answered, answered);
        if round % 2 == 1 {
            assert_eq!(stands(&scene, held.run).await, RUNNING);
            scene.finish(held, RunStatus::Succeeded).await.expect("finished");
        }
    }
    let resolved = scene.heard().await.iter().filter(|event| event.kind == EventKind::ToolResolved).count();
    assert_eq!(resolved, 16, "each was told once");
    assert_whole(&scene.page(scene.alex, scene.alex).await);
}
