//! Questions to agents.

use std::sync::Arc;
use std::time::Duration;

use domain::{AgentId, RequestId, RoomId, UserId};
use futures_util::future::join_all;
use store::Refusal;
use store::commands::Question;

use super::people::HOUR;
use super::world::{World, refused};

fn question(room: RoomId, user: UserId, agent: AgentId) -> Question {
    Question { id: RequestId::new(), agent, room, user, command: "deploy".into(), input: "pro".into() }
}

async fn scene(world: &World) -> (UserId, AgentId, RoomId) {
    let alex = world.person().await;
    let (agent, room) = (world.worker(alex, 1).await, world.group(&[alex]).await);
    world.join(alex, room, agent).await;
    (alex, agent, room)
}

pub(crate) async fn a_question_is_answered_once(world: World) {
    let (alex, agent, room) = scene(&world).await;
    let (asked, other) = (question(room, alex, agent), question(room, alex, agent));
    for question in [&asked, &other, &asked] {
        world.store.ask(question, HOUR).await.expect("noted");
    }
    let stranger = AgentId::new();
    let waiting = async |agents: &[AgentId]| {
        world.store.questions(&[asked.id, RequestId::new()], agents).await.expect("a list")
    };
    assert_eq!(waiting(&[agent, stranger]).await, std::slice::from_ref(&asked));
    assert_eq!(waiting(&[stranger]).await, []);
    assert_eq!(waiting(&[]).await, []);
    assert_eq!(world.store.answer_to(asked.id).await.expect("an answer"), None);

    let choices: Arc<str> = r#"[ "production" ]"#.into();
    assert!(!world.store.answer(asked.id, stranger, &choices).await.expect("an answer"));
    let answers = join_all((0..10).map(|number| {
        let (world, asked) = (world.clone(), asked.id);
        let choices: Arc<str> = format!("[{number}]").into();
        tokio::spawn(async move { (world.store.answer(asked, agent, &choices).await, choices) })
    }))
    .await;
    let counted: Vec<Arc<str>> = answers
        .into_iter()
        .map(|answer| answer.expect("no panic"))
        .filter_map(|(counts, choices)| counts.expect("an answer").then_some(choices))
        .collect();
    assert_eq!(counted.len(), 1);
    assert_eq!(world.store.answer_to(asked.id).await.expect("an answer"), counted.into_iter().next());
    assert_eq!(waiting(&[agent]).await, [], "it waits no more");
    assert!(world.store.answer(other.id, agent, &choices).await.expect("an answer"));
    assert_eq!(world.store.answer_to(other.id).await.expect("an answer"), Some(choices), "as it was written");
}

pub(crate) async fn late_answers_do_not_count(world: World) {
    let (alex, agent, room) = scene(&world).await;
    let late = question(room, alex, agent);
    world.store.ask(&late, Duration::ZERO).await.expect("noted");
    assert_eq!(world.store.questions(&[late.id], &[agent]).await.expect("a list"), []);
    assert!(!world.store.answer(late.id, agent, &"[]".into()).await.expect("an answer"));
    assert_eq!(world.store.answer_to(late.id).await.expect("an answer"), None);
    assert!(!world.store.answer(RequestId::new(), agent, &"[]".into()).await.expect("an answer"));
}

pub(crate) async fn only_members_ask_and_are_asked(world: World) {
    let (alex, agent, room) = scene(&world).await;
    let (sam, stranger) = (world.person().await, world.worker(alex, 1).await);
    let ask = async |question: &Question| refused(world.store.ask(question, HOUR).await);
    assert_eq!(ask(&question(room, sam, agent)).await, Refusal::NotFound("room"));
    assert_eq!(ask(&question(RoomId::new(), alex, agent)).await, Refusal::NotFound("room"));
    assert_eq!(ask(&question(room, alex, stranger)).await, Refusal::NotFound("agent"));
    let nobody = question(room, alex, agent);
    world.store.revoke_agent(alex, agent).await.expect("revoked");
    assert_eq!(ask(&nobody).await, Refusal::NotFound("agent"));
    assert_eq!(world.store.questions(&[nobody.id], &[agent]).await.expect("a list"), []);
}
