//! One connection, watched frame by frame.

use std::collections::VecDeque;

use client::socket::{Incoming, Outgoing, Raw};
use client::{Credential, Socket, SocketError};
use domain::{DeviceId, RoomId};
use protocol::frame::{Cursors, Event, Hello, Identify, Presence, Ready, Resume, Send, Slot, Subject};
use protocol::{ClientFrame, Encoding, ServerFrame};
use serde_json::Value;
use tokio::time::timeout;
use uuid::Uuid;

use crate::world::PATIENCE;

/// A connection that was let in. Whatever does not come within [`PATIENCE`] fails the test.
pub(crate) struct Wire {
    outgoing: Outgoing,
    incoming: Incoming,
    /// What the node said first.
    pub(crate) hello: Hello,
    ready: Option<Ready>,
    /// Frames that came while something else was waited for, to show when a test fails.
    passed: Vec<ServerFrame>,
    /// How people were seen meanwhile.
    seen: VecDeque<Presence>,
}

impl Wire {
    /// Connects and waits for `hello`.
    pub(crate) async fn open(
        url: &str,
        credential: &Credential,
        encoding: Encoding,
    ) -> Result<Self, SocketError> {
        let (outgoing, mut incoming) = Socket::connect(url, credential, encoding).await?.split();
        match timeout(PATIENCE, incoming.receive()).await.expect("hello")? {
            ServerFrame::Hello(hello) => {
                let (passed, seen) = (Vec::new(), VecDeque::new());
                Ok(Self { outgoing, incoming, hello, ready: None, passed, seen })
            }
            other => panic!("the first frame is {other:?}"),
        }
    }

    /// Identifies without cursors and waits for `ready`.
    pub(crate) async fn identify(&mut self, device: DeviceId) {
        self.identify_from(device, Cursors::default(), None).await;
    }

    /// Identifies with cursors and waits for `ready`.
    pub(crate) async fn identify_from(
        &mut self,
        device: DeviceId,
        cursors: Cursors,
        log_epoch: Option<Uuid>,
    ) {
        let slot = Slot::Device(device.0);
        self.say(&ClientFrame::Identify(Identify { slot, cursors, log_epoch })).await;
        self.until_ready().await;
    }

    /// Resumes and waits for `ready`.
    pub(crate) async fn resume(&mut self, session_id: Uuid, cursors: Cursors) {
        self.say(&ClientFrame::Resume(Resume { session_id, cursors, log_epoch: None })).await;
        self.until_ready().await;
    }

    /// Waits for `ready`, unless it came before.
    pub(crate) async fn until_ready(&mut self) {
        while self.ready.is_none() {
            let frame = self.next().await;
            assert!(
                matches!(frame, ServerFrame::Ready(_) | ServerFrame::Pong),
                "instead of ready came {frame:?}"
            );
        }
    }

    /// What `ready` said, if it came.
    pub(crate) fn try_ready(&self) -> Option<&Ready> {
        self.ready.as_ref()
    }

    /// What `ready` said.
    pub(crate) fn ready(&self) -> &Ready {
        self.ready.as_ref().expect("it has identified")
    }

    /// Waits for `live`; gives what came before it.
    pub(crate) async fn until_live(&mut self) -> Vec<ServerFrame> {
        let mut before = Vec::new();
        loop {
            match self.next().await {
                ServerFrame::Live => return before,
                frame => before.push(frame),
            }
        }
    }

    /// Sends a frame.
    pub(crate) fn say(&self, frame: &ClientFrame) -> impl Future<Output = ()> + use<> {
        // Without a hold of the receiving half, so that it may be awaited in any task.
        let (outgoing, frame) = (self.outgoing.clone(), frame.clone());
        async move { outgoing.send(&frame).await.expect("an open connection") }
    }

    /// Sends a frame, if the connection is still open.
    pub(crate) fn try_say(
        &self,
        frame: &ClientFrame,
    ) -> impl Future<Output = Result<(), SocketError>> + use<> {
        let (outgoing, frame) = (self.outgoing.clone(), frame.clone());
        async move { outgoing.send(&frame).await }
    }

    /// Sends text as it is.
    pub(crate) fn say_text(&self, text: &str) -> impl Future<Output = ()> + use<> {
        let (outgoing, text) = (self.outgoing.clone(), Raw::Text(text.to_owned()));
        async move { outgoing.send_raw(text).await.expect("an open connection") }
    }

    /// Sends a message without waiting for the answer.
    pub(crate) fn send(&self, room: RoomId, body: &str, nonce: &str) -> impl Future<Output = ()> + use<> {
        self.say(&message(room, body, nonce))
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> ServerFrame {
        let frame = self.received().await;
        frame.unwrap_or_else(|end| panic!("the connection is over: {end}\nit had {:#?}", self.passed))
    }

    /// The next frame, or how the connection ended. How people are seen comes at any time, and is kept for who asks for it.
    pub(crate) async fn received(&mut self) -> Result<ServerFrame, SocketError> {
        loop {
            match self.any().await? {
                ServerFrame::Presence(seen) if matches!(seen.subject, Subject::User(_)) => {
                    self.seen.push_back(seen);
                }
                frame => return Ok(frame),
            }
        }
    }

    /// How somebody is seen differently next; other frames are passed over.
    pub(crate) async fn person_seen(&mut self) -> Presence {
        loop {
            if let Some(seen) = self.seen.pop_front() {
                return seen;
            }
            match self.any().await {
                Ok(ServerFrame::Presence(seen)) if matches!(seen.subject, Subject::User(_)) => return seen,
                Ok(_) => {}
                Err(end) => panic!("the connection is over: {end}\nit had {:#?}", self.passed),
            }
        }
    }

    /// How people were seen differently so far, as far as that was not asked for.
    pub(crate) fn take_people_seen(&mut self) -> Vec<Presence> {
        self.seen.drain(..).collect()
    }

    async fn any(&mut self) -> Result<ServerFrame, SocketError> {
        match timeout(PATIENCE, self.incoming.receive()).await {
            Ok(received) => {
                if let Ok(frame) = &received {
                    if let ServerFrame::Ready(ready) = frame {
                        self.ready = Some(Ready::clone(ready));
                    }
                    self.passed.push(frame.clone());
                    if self.passed.len() > 64 {
                        self.passed.drain(..32);
                    }
                }
                received
            }
            Err(_) => panic!("nothing comes; before came {:#?}", self.passed),
        }
    }

    /// The first frame that this finds something in; what comes before is passed over.
    pub(crate) async fn find<T>(&mut self, wanted: impl Fn(&ServerFrame) -> Option<T>) -> T {
        loop {
            if let Some(found) = wanted(&self.next().await) {
                return found;
            }
        }
    }

    /// The next event; other frames are passed over.
    pub(crate) async fn event(&mut self) -> Event {
        self.find(|frame| match frame {
            ServerFrame::Event(event) => Some(event.clone()),
            _ => None,
        })
        .await
    }

    /// The next event of this kind.
    pub(crate) async fn event_of(&mut self, kind: &str) -> Event {
        self.find(|frame| match frame {
            ServerFrame::Event(event) if event.kind == kind => Some(event.clone()),
            _ => None,
        })
        .await
    }

    /// The next event of a room, which must be of this kind. Streams come in no order of each other: what the person is told
    /// of it in their own is passed over.
    pub(crate) async fn next_in(&mut self, room: RoomId, kind: &str) -> Event {
        let event = self
            .find(|frame| match frame {
                ServerFrame::Event(event) if event.stream == stream(room) => Some(event.clone()),
                _ => None,
            })
            .await;
        assert_eq!(event.kind, kind, "{event:?}");
        event
    }

    /// The next event of a kind, which must be the very next event.
    pub(crate) async fn next_event_is(&mut self, kind: &str) -> Event {
        let event = self.event().await;
        assert_eq!(event.kind, kind, "{event:?}");
        event
    }

    /// Waits for an event of this kind; gives the frames before it.
    pub(crate) async fn until_event(&mut self, kind: &str) -> Vec<ServerFrame> {
        let mut before = Vec::new();
        loop {
            match self.next().await {
                ServerFrame::Event(event) if event.kind == kind => return before,
                frame => before.push(frame),
            }
        }
    }

    /// The code of the next `error`.
    pub(crate) async fn error(&mut self) -> String {
        self.find(|frame| match frame {
            ServerFrame::Error(error) => Some(error.code.clone()),
            _ => None,
        })
        .await
    }

    /// Waits for the close and gives its code; frames before it are passed over.
    pub(crate) async fn closed(&mut self) -> u16 {
        loop {
            match self.received().await {
                Ok(_) => {}
                Err(SocketError::Closed { code: Some(code), .. }) => return code,
                Err(other) => panic!("instead of a close: {other}"),
            }
        }
    }

    /// Reads until there is no connection any more, however that is; gives the events on the way.
    pub(crate) async fn until_lost(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Ok(frame) = self.received().await {
            if let ServerFrame::Event(event) = frame {
                events.push(event);
            }
        }
        events
    }

    /// Proves that the connection lives: everything sent to it before has come when this returns, and is given back.
    pub(crate) async fn ping(&mut self) -> Vec<ServerFrame> {
        self.say(&ClientFrame::Ping).await;
        let mut before = Vec::new();
        loop {
            match self.next().await {
                ServerFrame::Pong => return before,
                frame => before.push(frame),
            }
        }
    }

    /// The cursors after everything that `ready` named.
    pub(crate) fn cursors(&self) -> Cursors {
        Cursors::try_from(self.ready().streams.clone()).expect("names of streams")
    }

    /// Both halves, for tasks. The connection ends when the sending one is gone.
    pub(crate) fn split(self) -> (Outgoing, Incoming) {
        (self.outgoing, self.incoming)
    }
}

/// Takes a device without cursors.
pub(crate) fn identify(device: DeviceId) -> ClientFrame {
    let slot = Slot::Device(device.0);
    ClientFrame::Identify(Identify { slot, cursors: Cursors::default(), log_epoch: None })
}

/// A message of a client.
pub(crate) fn message(room: RoomId, body: &str, nonce: &str) -> ClientFrame {
    let (body, nonce) = (body.to_owned(), nonce.to_owned());
    ClientFrame::Send(Send { room_id: room.0, body, nonce, reply_to: None })
}

/// The data of an event.
pub(crate) fn data(event: &Event) -> Value {
    serde_json::from_str(event.data.get()).expect("data is JSON")
}

/// The body of a message's event.
pub(crate) fn body(event: &Event) -> String {
    data(event)["body"].as_str().unwrap_or_else(|| panic!("no body in {event:?}")).to_owned()
}

/// The stream of a room.
pub(crate) fn stream(room: RoomId) -> String {
    format!("room:{room}")
}
