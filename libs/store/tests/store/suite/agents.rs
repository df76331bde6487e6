//! Agents: made, signed in, changed, revoked.

use std::collections::BTreeSet;

use domain::{Agent, AgentId, AuthSessionId, Principal, Role, RoomId, UserId};
use store::agents::{AgentSettings, AgentToken, NewAgent, SignedInAgent, TokenStanding};
use store::rooms::NewRoom;
use store::{Refusal, StoreError};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::people::{agent, agent_token, new_agent, new_user, person};
use super::world::{World, group, refused};

const NO_AGENT: Refusal = Refusal::NotFound("agent");

async fn made(world: &World, new: &NewAgent) -> Agent {
    let (agent, created) = world.store.create_agent(new).await.expect("an agent");
    assert!(created);
    agent
}

async fn standing(world: &World, token: &AgentToken) -> TokenStanding {
    world.store.agent_by_token(&token.hash).await.expect("an answer")
}

pub(crate) async fn an_agent_is_made_with_its_inbox(world: World) {
    let alex = world.person().await;
    let new = new_agent(alex, "builder");
    let agent = made(&world, &new).await;
    assert_eq!((agent.id, agent.owner, agent.handle.as_str()), (new.id, alex, "builder"));
    assert_eq!((agent.display_name.as_str(), agent.max_runs, agent.revoked), ("BUILDER", 4, false));
    assert_eq!(world.store.agent(new.id).await.expect("an answer"), Some(agent.clone()));
    let signed_in = SignedInAgent { agent: agent.clone(), token: new.token.id };
    assert_eq!(standing(&world, &new.token).await, TokenStanding::Good(signed_in));
    assert_eq!(world.store.agents(None, 10).await.expect("an answer"), [agent]);
    assert_eq!(world.inbox(new.id).await, []);
    assert_eq!(world.store.agent(AgentId::new()).await.expect("an answer"), None);
    for bad in [0, u32::MAX] {
        let new = NewAgent { max_runs: bad, ..new_agent(alex, "other") };
        assert!(matches!(refused(world.store.create_agent(&new).await), Refusal::Invalid("max_runs", _)));
    }
}

pub(crate) async fn a_handle_is_one_persons_or_one_agents(world: World) {
    let alex = person(&*world.store, "alex").await.id;
    agent(&*world.store, alex, "builder").await;
    for taken in ["alex", "builder"] {
        let refusal = refused(world.store.create_agent(&new_agent(alex, taken)).await);
        assert_eq!(refusal, Refusal::HandleTaken, "{taken}");
        assert_eq!(refused(world.store.create_user(&new_user(taken)).await), Refusal::HandleTaken, "{taken}");
    }
    // What was refused reserved nothing.
    let same_person = store::accounts::NewUser { id: alex, ..new_user("robin") };
    assert_eq!(refused(world.store.create_user(&same_person).await), Refusal::HandleTaken);
    agent(&*world.store, alex, "robin").await;
}

pub(crate) async fn of_people_and_agents_one_gets_the_handle(world: World) {
    let alex = world.person().await;
    for round in 0..10 {
        let handle = format!("wanted{round}");
        let mut tasks = JoinSet::new();
        for task in 0..8 {
            let (world, handle) = (world.clone(), handle.clone());
            tasks.spawn(async move {
                let made = if task % 2 == 0 {
                    let made = world.store.create_agent(&new_agent(alex, &handle)).await;
                    made.map(|(agent, _)| Principal::Agent(agent.id))
                } else {
                    world.store.create_user(&new_user(&handle)).await.map(|user| Principal::User(user.id))
                };
                match made {
                    Ok(winner) => Some(winner),
                    Err(StoreError::Refused(Refusal::HandleTaken)) => None,
                    Err(other) => panic!("{other:?}"),
                }
            });
        }
        let winners: Vec<Principal> = tasks.join_all().await.into_iter().flatten().collect();
        assert_eq!(winners.len(), 1, "{winners:?}");
        let room = world.group(&[alex]).await;
        world.store.add_members(alex, room, &winners).await.expect("added");
        let found = world.store.members_by_handle(room, &[handle]).await.expect("an answer");
        assert_eq!(found, winners);
    }
}

pub(crate) async fn a_key_makes_one_agent(world: World) {
    let [alex, sam] = world.people().await;
    let keyed = |new: NewAgent, key: &str| NewAgent { key: Some(key.into()), ..new };
    let first = keyed(new_agent(alex, "builder"), "k");
    let agent = made(&world, &first).await;
    let again = keyed(new_agent(alex, "another"), "k");
    assert_eq!(world.store.create_agent(&again).await.expect("the agent"), (agent, false));
    assert_eq!(standing(&world, &again.token).await, TokenStanding::Unknown, "the token stays what it was");
    made(&world, &keyed(new_agent(sam, "another"), "k")).await;

    // A key counts only when something was made with it.
    let taken = keyed(new_agent(alex, "builder"), "free");
    assert_eq!(refused(world.store.create_agent(&taken).await), Refusal::HandleTaken);
    made(&world, &keyed(new_agent(alex, "third"), "free")).await;

    let room = NewRoom { key: Some("room".into()), ..group(&[alex]) };
    world.store.create_room(&room).await.expect("a room");
    let reused = keyed(new_agent(alex, "fourth"), "room");
    assert_eq!(refused(world.store.create_agent(&reused).await), Refusal::NonceReused);
    let reused = NewRoom { key: Some("k".into()), ..group(&[alex]) };
    assert_eq!(refused(world.store.create_room(&reused).await), Refusal::NonceReused);
}

pub(crate) async fn a_key_used_by_ten_makes_one_agent(world: World) {
    let alex = world.person().await;
    let mut tasks = JoinSet::new();
    for task in 0..10 {
        let world = world.clone();
        tasks.spawn(async move {
            let new = NewAgent { key: Some("k".into()), ..new_agent(alex, &format!("builder{task}")) };
            world.store.create_agent(&new).await.expect("the agent")
        });
    }
    let answers = tasks.join_all().await;
    assert_eq!(answers.iter().filter(|(_, created)| *created).count(), 1);
    assert!(answers.iter().all(|(agent, _)| *agent == answers[0].0));
    assert_eq!(world.store.agents(None, 20).await.expect("an answer").len(), 1);
}

pub(crate) async fn making_is_repeatable_by_id(world: World) {
    let alex = world.person().await;
    let new = new_agent(alex, "builder");
    let agent = made(&world, &new).await;
    assert_eq!(world.store.create_agent(&new).await.expect("the agent"), (agent, false));
    let renamed = NewAgent { handle: "other".into(), ..new };
    let refusal = refused(world.store.create_agent(&renamed).await);
    assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}");
    assert_eq!(made(&world, &new_agent(alex, "other")).await.handle, "other");
}

pub(crate) async fn the_disabled_make_no_agents(world: World) {
    let alex = world.person().await;
    world.disable(alex).await;
    for nobody in [alex, UserId::new()] {
        let new = NewAgent { key: Some("k".into()), ..new_agent(nobody, "builder") };
        assert_eq!(refused(world.store.create_agent(&new).await), Refusal::Forbidden);
    }
    let sam = world.person().await;
    agent(&*world.store, sam, "builder").await;
}

pub(crate) async fn a_token_signs_in_until_it_is_rotated(world: World) {
    let alex = world.person().await;
    let new = new_agent(alex, "builder");
    let agent = made(&world, &new).await;
    let next = agent_token();
    let former = world.store.rotate_agent_token(alex, agent.id, &next).await.expect("rotated");
    assert_eq!(former, new.token.id);
    assert_eq!(standing(&world, &new.token).await, TokenStanding::Unknown);
    let signed_in = SignedInAgent { agent, token: next.id };
    assert_eq!(standing(&world, &next).await, TokenStanding::Good(signed_in));
    let unknown = AuthSessionId::new();
    let mut ended = world.store.ended_agent_tokens(&[former, next.id, unknown]).await.expect("an answer");
    ended.sort();
    let mut expected = [former, unknown];
    expected.sort();
    assert_eq!(ended, expected);
    assert_eq!(world.store.ended_agent_tokens(&[]).await.expect("an answer"), []);
}

/// However many rotate at once: each token is told as the former by exactly one, but for the last, which is good.
pub(crate) async fn rotations_at_once_follow_each_other(world: World) {
    let alex = world.person().await;
    let new = new_agent(alex, "builder");
    let agent = made(&world, &new).await.id;
    let mut tokens = vec![new.token];
    let mut tasks = JoinSet::new();
    for _ in 0..12 {
        let (world, token) = (world.clone(), agent_token());
        tokens.push(token);
        tasks.spawn(
            async move { world.store.rotate_agent_token(alex, agent, &token).await.expect("rotated") },
        );
    }
    let formers = tasks.join_all().await;
    let distinct: BTreeSet<AuthSessionId> = formers.iter().copied().collect();
    assert_eq!(distinct.len(), formers.len());
    for token in tokens {
        let expected = distinct.contains(&token.id);
        assert_eq!(standing(&world, &token).await == TokenStanding::Unknown, expected);
    }
}

pub(crate) async fn rotation_meets_revocation(world: World) {
    let alex = world.person().await;
    for round in 0..10 {
        let new = new_agent(alex, &format!("builder{round}"));
        let agent = made(&world, &new).await.id;
        let next = agent_token();
        let rotation = async { world.store.rotate_agent_token(alex, agent, &next).await };
        let revocation = async { world.store.revoke_agent(alex, agent).await.expect("revoked").0 };
        let (rotated, revoked) = tokio::join!(rotation, revocation);
        match rotated {
            Ok(former) => assert_eq!((former, revoked), (new.token.id, next.id)),
            Err(StoreError::Refused(Refusal::Conflict(_))) => assert_eq!(revoked, new.token.id),
            Err(other) => panic!("{other:?}"),
        }
        let ended = world.store.ended_agent_tokens(&[new.token.id, next.id]).await.expect("an answer");
        assert_eq!(ended.len(), 2, "neither signs in");
    }
}

pub(crate) async fn who_is_revoked_stays_so(world: World) {
    let alex = world.person().await;
    let new = new_agent(alex, "builder");
    let agent = made(&world, &new).await;
    for _ in 0..2 {
        let (token, events) = world.store.revoke_agent(alex, agent.id).await.expect("revoked");
        assert_eq!((token, events.len()), (new.token.id, 0));
    }
    assert_eq!(standing(&world, &new.token).await, TokenStanding::Ended(new.token.id));
    assert_eq!(world.store.ended_agent_tokens(&[new.token.id]).await.expect("an answer"), [new.token.id]);
    assert_eq!(world.store.agent_tokens_of(alex).await.expect("an answer"), []);
    let refusal = refused(world.store.rotate_agent_token(alex, agent.id, &agent_token()).await);
    assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}");
    assert_eq!(world.store.agents(None, 10).await.expect("an answer"), []);
    let found = world.store.agent(agent.id).await.expect("an answer");
    assert_eq!(found, Some(Agent { revoked: true, ..agent }), "history keeps its name");
    let refusal = refused(world.store.create_user(&new_user("builder")).await);
    assert_eq!(refusal, Refusal::HandleTaken);
}

pub(crate) async fn the_owner_and_admins_change_an_agent(world: World) {
    let [alex, sam, robin] = world.people().await;
    let admin = store::accounts::NewUser { role: Role::Admin, ..new_user("admin") };
    let admin = world.store.create_user(&admin).await.expect("an admin").id;
    let agent = world.agent(alex).await;
    let refusals = async |actor: UserId, agent: AgentId| {
        let settings = AgentSettings::default();
        [
            refused(world.store.rotate_agent_token(actor, agent, &agent_token()).await),
            refused(world.store.set_agent_settings(actor, agent, &settings).await),
            refused(world.store.revoke_agent(actor, agent).await),
        ]
    };
    assert_eq!(refusals(sam, agent).await, [Refusal::Forbidden; 3]);
    assert_eq!(refusals(UserId::new(), agent).await, [Refusal::Forbidden; 3]);
    assert_eq!(refusals(alex, AgentId::new()).await, [NO_AGENT; 3]);
    let settings = AgentSettings { display_name: Some("Builder".into()), max_runs: None };
    for actor in [alex, admin] {
        world.store.rotate_agent_token(actor, agent, &agent_token()).await.expect("rotated");
        world.store.set_agent_settings(actor, agent, &settings).await.expect("changed");
    }
    let of_robin = world.agent(robin).await;
    for (disabled, agent) in [(admin, agent), (robin, of_robin)] {
        world.disable(disabled).await;
        assert_eq!(refusals(disabled, agent).await, [Refusal::Forbidden; 3]);
    }
}

pub(crate) async fn an_agent_signs_in_while_its_owner_may(world: World) {
    let alex = world.person().await;
    let (new, other) = (new_agent(alex, "builder"), new_agent(alex, "painter"));
    let agent = made(&world, &new).await;
    made(&world, &other).await;
    world.disable(alex).await;
    assert_eq!(standing(&world, &new.token).await, TokenStanding::Ended(new.token.id));
    let mut tokens = world.store.agent_tokens_of(alex).await.expect("an answer");
    tokens.sort();
    let mut expected = [new.token.id, other.token.id];
    expected.sort();
    assert_eq!(tokens, expected);
    assert_eq!(world.store.ended_agent_tokens(&tokens).await.expect("an answer").len(), 2);
    world.store.set_user_disabled(alex, false).await.expect("enabled");
    let signed_in = SignedInAgent { agent, token: new.token.id };
    assert_eq!(standing(&world, &new.token).await, TokenStanding::Good(signed_in));
}

pub(crate) async fn settings_stay_where_none_are_given(world: World) {
    let alex = world.person().await;
    let agent = agent(&*world.store, alex, "builder").await;
    let change = async |display_name: Option<&str>, max_runs| {
        let settings = AgentSettings { display_name: display_name.map(Into::into), max_runs };
        let (agent, events) =
            world.store.set_agent_settings(alex, agent.id, &settings).await.expect("changed");
        assert_eq!(events, [], "no runs wait");
        assert_eq!(world.store.agent(agent.id).await.expect("an answer"), Some(agent.clone()));
        (agent.display_name, agent.max_runs)
    };
    assert_eq!(change(Some("Builder"), None).await, ("Builder".into(), 4));
    assert_eq!(change(None, Some(7)).await, ("Builder".into(), 7));
    assert_eq!(change(None, None).await, ("Builder".into(), 7));
    let none = AgentSettings { display_name: None, max_runs: Some(0) };
    let refusal = refused(world.store.set_agent_settings(alex, agent.id, &none).await);
    assert!(matches!(refusal, Refusal::Invalid("max_runs", _)), "{refusal:?}");
}

pub(crate) async fn agents_are_listed_by_id(world: World) {
    let [alex, sam] = world.people().await;
    let mut agents = Vec::new();
    for owner in [alex, sam, alex, sam, alex] {
        agents.push(world.agent(owner).await);
    }
    agents.sort();
    let list = async |after, limit| {
        let agents = world.store.agents(after, limit).await.expect("an answer");
        agents.into_iter().map(|agent| agent.id).collect::<Vec<_>>()
    };
    assert_eq!(list(None, 10).await, agents);
    assert_eq!(list(None, 2).await, agents[..2]);
    assert_eq!(list(Some(agents[1]), 2).await, agents[2..4]);
    assert_eq!(list(Some(agents[4]), 2).await, []);
}

pub(crate) async fn ids_are_told_apart(world: World) {
    let alex = world.person().await;
    let agent = world.agent(alex).await;
    let room = world.group(&[alex]).await;
    let asked = [alex.0, agent.0, room.0, RoomId::new().0, Uuid::nil()];
    let mut found = world.store.principals(&asked).await.expect("an answer");
    found.sort();
    assert_eq!(found, [Principal::User(alex), Principal::Agent(agent)]);
    assert_eq!(world.store.principals(&[]).await.expect("an answer"), []);
}
