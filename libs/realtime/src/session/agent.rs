//! Agents: a consumer follows its agent's stream from where it was acknowledged.
//!
//! Where the place was taken from somebody who may be connected still, the winner waits until the guard
//! of the loser's deliveries has run out ([`crate::guard`]) before it is given anything.

use std::collections::BTreeMap;

use domain::{AgentId, SlotSessionId, StreamRef};
use protocol::frame::{Account, AgentSelf, Ready};
use protocol::notify::Kind;
use protocol::{CloseCode, ServerFrame};
use store::consumers::{AgentSnapshot, Claim, ConsumerOutcome, ConsumerSlot, TakeConsumer};

use super::person::room_states;
use super::{Begin, Opened, Opening, SessionError, Sessions, pass_on};
use crate::catchup::gap;
use crate::connection::{ConnectionMeta, Hold};
use crate::encoded::Encoded;
use crate::guard::VALID_FOR;

impl Sessions {
    pub(super) async fn open_consumer(
        &self,
        meta: ConnectionMeta,
        agent: AgentId,
        opening: &Opening,
    ) -> Result<Opened, SessionError> {
        let slot = self.take_place(&meta, agent, &opening.begin).await?;
        self.announce.announce(Kind::ConsumerSession, slot.consumer.0.into(), Some(slot.epoch));
        let following = self.register(meta, Hold::Consumer(slot));
        if slot.contested {
            tokio::time::sleep(VALID_FOR).await;
        }
        let snapshot = self.store.agent_snapshot(agent).await?.ok_or(SessionError::Disabled)?;
        let stream = StreamRef::from(agent);
        let (head, floor) = snapshot.inbox;
        let last = slot.cursor.clamp(floor.min(head), head);
        self.hub.subscribe(&following.connection, stream, last, head);
        let mut greeting = vec![Encoded::frame(ServerFrame::Ready(Box::new(ready(&slot, snapshot))))];
        if last != slot.cursor {
            greeting.push(gap(stream, floor, last));
        }
        // Asked once this node would hear of a change.
        let tokens = [meta.session];
        let (ended, holds) = tokio::try_join!(
            self.store.ended_agent_tokens(&tokens),
            self.store.holds_consumer(slot.session)
        )?;
        let ended = if ended.is_empty() {
            (!holds).then_some(CloseCode::ConsumerTakenOver)
        } else {
            Some(CloseCode::SignInEnded)
        };
        Ok(following.through(greeting, ended))
    }

    async fn take_place(
        &self,
        meta: &ConnectionMeta,
        agent: AgentId,
        begin: &Begin,
    ) -> Result<ConsumerSlot, SessionError> {
        let claim = match begin {
            Begin::Consumer(name) => Claim::Identify { name: name.clone() },
            Begin::Resume(session) => Claim::Resume { session: *session },
            Begin::Device(_) | Begin::Unslotted => return Err(SessionError::OtherKind),
        };
        let attempt = TakeConsumer {
            agent,
            claim,
            connection: meta.id,
            session: SlotSessionId::new(),
            node: self.node,
            live_for: self.limits.consumer_live,
        };
        match self.store.take_consumer(&attempt).await? {
            ConsumerOutcome::Taken { slot, events, runs } => {
                pass_on(&self.hub, &*self.announce, events);
                for run in runs {
                    self.hub.boxes().touch(run);
                    self.announce.announce(Kind::RunUpdated, run.0.into(), None);
                }
                Ok(slot)
            }
            ConsumerOutcome::NotResumable => Err(SessionError::NotResumable),
            ConsumerOutcome::UnknownAgent => Err(SessionError::Disabled),
        }
    }
}

fn ready(slot: &ConsumerSlot, snapshot: AgentSnapshot) -> Ready {
    Ready {
        session_id: slot.session.0,
        epoch: slot.epoch,
        log_epoch: snapshot.log_epoch.0,
        account: Account::Agent(AgentSelf {
            id: snapshot.agent.id.0,
            handle: snapshot.agent.handle,
            display_name: snapshot.agent.display_name,
        }),
        rooms: room_states(snapshot.rooms),
        streams: BTreeMap::from([(StreamRef::from(slot.agent).to_string(), snapshot.inbox.0)]),
    }
}
