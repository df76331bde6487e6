//! Agents as members of rooms, over two api nodes and two gateways.

use client::api::{AgentSettings, NewAgent, NewMessage};
use client::{Api, ApiError};
use domain::{AgentId, EventId};
use serde_json::json;
use testkit::cluster::ClusterOptions;

use crate::wire::{body, data};
use crate::world::{Person, World, in_both_worlds};

in_both_worlds!(
    an_agent_talks_with_people_and_goes_when_it_is_removed,
    what_is_changed_of_an_agent_holds_everywhere_at_once,
);

/// An agent, and the api in its name at the node where it was made.
async fn agent(owner: &Person, handle: &str) -> (AgentId, Api) {
    let made = owner.api.create_agent(&NewAgent::new(handle), None).await.expect("an agent");
    (made.agent.id, owner.api.with_token(made.token.expect("a token, this once")))
}

fn code<T: std::fmt::Debug>(outcome: Result<T, ApiError>) -> String {
    outcome.expect_err("refused").code().to_owned()
}

async fn an_agent_talks_with_people_and_goes_when_it_is_removed(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let (helper, api) = agent(&alex, "helper").await;
    let elsewhere = api.at(&world.cluster.api_url(2)).expect("an address");
    let room = alex.room("Lunch", &[&sam]).await;
    let mut wire = world.connect(&sam, 2).await;

    alex.at(&world, 2).add_agent(room, helper).await.expect("added");
    assert_eq!(
        data(&wire.next_in(room, "member.joined").await),
        json!({ "agent_id": helper, "role": "member" })
    );
    let rooms = elsewhere.rooms(None).await.expect("rooms").items;
    assert_eq!(rooms.iter().map(|room| room.id).collect::<Vec<_>>(), [room]);

    let asked =
        alex.api.send_message(room, &NewMessage::new("Soup, @helper? And @sam?")).await.expect("sent");
    assert_eq!(data(&asked.event)["mentions"], json!([sam.id]));
    assert_eq!(data(&asked.event)["agents"], json!([helper]));
    assert_eq!(wire.next_in(room, "message.created").await, asked.event);
    // Who is mentioned is asked.
    wire.next_in(room, "run.created").await;
    let answer = elsewhere.send_message(room, &NewMessage::new("Soup.")).await.expect("sent").event;
    let seen = wire.next_in(room, "message.created").await;
    assert_eq!((&seen, seen.sender.id, body(&seen)), (&answer, Some(helper.0), "Soup.".to_owned()));
    api.add_reaction(room, EventId(asked.event.id), "\u{1f35c}").await.expect("added");
    assert_eq!(wire.next_in(room, "reaction.added").await.sender.id, Some(helper.0));
    assert_eq!(code(elsewhere.edit_message(room, EventId(asked.event.id), "Cake").await), "forbidden");
    assert_eq!(code(elsewhere.typing(room).await), "forbidden");

    // Who follows the room goes on following it.
    alex.api.remove_agent(room, helper).await.expect("removed");
    // What it was asked for here ends before it goes.
    assert_eq!(data(&wire.next_in(room, "run.finished").await)["status"], "cancelled");
    assert_eq!(data(&wire.next_in(room, "member.left").await), json!({ "agent_id": helper }));
    assert_eq!(code(elsewhere.send_message(room, &NewMessage::new("Still here?")).await), "not_found");
    assert_eq!(code(api.room(room).await), "not_found");
    alex.says(room, "Gone").await;
    assert_eq!(body(&wire.next_in(room, "message.created").await), "Gone");
}

async fn what_is_changed_of_an_agent_holds_everywhere_at_once(options: ClusterOptions) {
    let world = World::on(options).await;
    let (alex, sam) = world.alex_and_sam().await;
    let (helper, api) = agent(&alex, "helper").await;
    let at_two = |api: &Api| api.at(&world.cluster.api_url(2)).expect("an address");
    assert_eq!(at_two(&api).own_agent().await.expect("signed in").id, helper);
    let wider = AgentSettings { max_runs: Some(9), ..AgentSettings::default() };
    alex.api.set_agent(helper, &wider).await.expect("changed");
    assert_eq!(sam.api.agent(helper).await.expect("everybody sees it").max_runs, 9);

    let token = alex.at(&world, 2).rotate_agent_token(helper).await.expect("a token").token;
    for node in [&api, &at_two(&api)] {
        assert_eq!(code(node.own_agent().await), "unauthenticated");
    }
    let api = api.with_token(token);
    assert_eq!(at_two(&api).own_agent().await.expect("signed in").id, helper);
    assert_eq!(code(sam.api.rotate_agent_token(helper).await), "forbidden");
    assert_eq!(code(sam.api.revoke_agent(helper).await), "forbidden");
    alex.api.revoke_agent(helper).await.expect("revoked");
    alex.at(&world, 2).revoke_agent(helper).await.expect("revoked before");
    for node in [&api, &at_two(&api)] {
        assert_eq!(code(node.own_agent().await), "session_revoked");
    }
    assert!(sam.api.agents(None).await.expect("agents").items.is_empty());
    assert!(sam.api.agent(helper).await.expect("history names it").revoked);
}
