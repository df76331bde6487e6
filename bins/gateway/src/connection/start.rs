//! From a fresh socket to a session: sign-in, `hello`, `identify` or `resume`.

use std::time::Duration;

use auth::SignIn;
use domain::{ConnectionId, DeviceId, ErrorCode, ErrorKind, SlotSessionId, text};
use protocol::frame::{ErrorFrame, Hello, Slot};
use protocol::{ClientFrame, CloseCode, Encoding, ServerFrame};
use realtime::{Begin, ConnectionMeta, Encoded, Opened, Opening, SessionError, Term};
use tokio::time::{Instant, timeout_at};

use crate::connection::{End, answer, reader, wire};
use crate::credentials::Credentials;
use crate::gateway::Gateway;
use crate::websocket::{Message, Reader, Writer, frame};

/// How long a connection that has no session yet may go on once the node drains; one that has is sent away in its turn.
const LAST_START: Duration = Duration::from_secs(1);

/// Takes a connection to `ready`, which waits in what is given back, beside how long the connection may live.
pub(super) async fn start(
    gateway: &Gateway,
    id: ConnectionId,
    encoding: Encoding,
    credentials: Credentials,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<(Opened, Term), End> {
    let deadline = Instant::now() + gateway.settings.identify_timeout;
    let starting = async {
        let SignIn { principal, session, expires_at } = sign_in(gateway, credentials).await?;
        let meta = ConnectionMeta { id, principal, session };
        let hello = ServerFrame::Hello(Hello {
            heartbeat_interval_ms: millis(gateway.settings.heartbeat_interval),
            node: gateway.parts.node.0,
            connection_id: id.0,
            reconnect_jitter_ms: millis(gateway.settings.reconnect_jitter),
        });
        let mut conversation = Conversation { gateway, encoding, reader, writer };
        conversation.tell(hello).await?;
        let opened = conversation.begin(meta).await?;
        Ok((opened, Term::new(expires_at, gateway.refresh_grace)))
    };
    let leaves = async {
        gateway.parts.tasks.token().cancelled().await;
        tokio::time::sleep(LAST_START).await;
    };
    tokio::select! {
        started = timeout_at(deadline, starting) => {
            started.unwrap_or(Err(End::Close(CloseCode::IdentifyFirst)))
        }
        () = leaves => Err(End::Close(CloseCode::NodeDrains)),
    }
}

async fn sign_in(gateway: &Gateway, credentials: Credentials) -> Result<SignIn, End> {
    let identity = &gateway.parts.identity;
    let signed_in = match credentials {
        Credentials::Ticket(ticket) => identity.redeem_ticket(&ticket).await,
        Credentials::Bearer(token) => identity.authenticate(&token).await,
        Credentials::Missing => return Err(End::Close(CloseCode::SignInFailed)),
    };
    signed_in.map_err(|error| {
        tracing::debug!(%error, "a sign-in failed");
        End::Close(match error.kind() {
            // Not the client's fault: it may try again.
            ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::Internal => CloseCode::Internal,
            _ => CloseCode::SignInFailed,
        })
    })
}

/// The time before `ready`, in which one side speaks at a time.
struct Conversation<'a> {
    gateway: &'a Gateway,
    encoding: Encoding,
    reader: &'a mut Reader,
    writer: &'a mut Writer,
}

impl Conversation<'_> {
    async fn tell(&mut self, frame: ServerFrame) -> Result<(), End> {
        self.writer.write(&wire(&Encoded::frame(frame), self.encoding)).await.map_err(|_| End::Broken)
    }

    /// Waits for an `identify` or `resume` that succeeds.
    async fn begin(&mut self, meta: ConnectionMeta) -> Result<Opened, End> {
        loop {
            let opening = match self.next().await? {
                ClientFrame::Ping => {
                    self.tell(ServerFrame::Pong).await?;
                    continue;
                }
                ClientFrame::Identify(identify) => Opening {
                    begin: match identify.slot {
                        Slot::Device(device) => Begin::Device(DeviceId(device)),
                        Slot::Consumer(name) => match text::name("consumer", &name) {
                            Ok(()) => Begin::Consumer(name),
                            Err(invalid) => {
                                self.refuse(ErrorCode::InvalidField, invalid.to_string()).await?;
                                continue;
                            }
                        },
                    },
                    cursors: identify.cursors,
                    log_epoch: identify.log_epoch.map(Into::into),
                },
                ClientFrame::Resume(resume) => Opening {
                    begin: Begin::Resume(SlotSessionId(resume.session_id)),
                    cursors: resume.cursors,
                    log_epoch: resume.log_epoch.map(Into::into),
                },
                _ => return Err(End::Close(CloseCode::IdentifyFirst)),
            };
            match self.gateway.parts.sessions.open(meta, &opening).await {
                Ok(opened) => return self.with_runs(opened, &opening).await,
                Err(SessionError::NotResumable) => return Err(End::Close(CloseCode::ResumeRefused)),
                Err(SessionError::Disabled) => return Err(End::Close(CloseCode::SignInEnded)),
                Err(error @ (SessionError::UnknownDevice | SessionError::OtherKind)) => {
                    self.refuse(error.code(), error.public_message()).await?;
                }
                Err(error @ SessionError::Store(_)) => {
                    tracing::warn!(%error, "a session can't begin");
                    return Err(End::Close(CloseCode::Internal));
                }
            }
        }
    }

    /// A consumer that has begun is seen; one that was resumed goes on with its runs, and is given each as it is stored.
    async fn with_runs(&self, mut opened: Opened, opening: &Opening) -> Result<Opened, End> {
        let Some(slot) = opened.connection.hold.consumer() else { return Ok(opened) };
        let operations = &self.gateway.parts.operations;
        if matches!(opening.begin, Begin::Resume(_)) {
            match operations.adopt_runs(slot.session).await {
                Ok(runs) => {
                    opened.greeting.extend(runs.iter().map(|run| Encoded::frame(answer::run(run))));
                }
                Err(error) => {
                    tracing::warn!(%error, "a session can't go on");
                    self.gateway.parts.sessions.close(&opened.connection);
                    return Err(End::Close(CloseCode::Internal));
                }
            }
        }
        operations.consumer_came(slot.agent).await;
        Ok(opened)
    }

    async fn refuse(&mut self, code: ErrorCode, detail: String) -> Result<(), End> {
        self.tell(ServerFrame::Error(ErrorFrame::new(code.as_str(), detail))).await
    }

    /// The client's next frame. Frames that are wrong in a field are answered by `error`.
    async fn next(&mut self) -> Result<ClientFrame, End> {
        loop {
            let payload = match self.reader.next().await {
                Ok(Message::Text(payload) | Message::Binary(payload)) => payload,
                Ok(Message::Ping(payload)) => {
                    self.writer.write(&frame::pong(&payload)).await.map_err(|_| End::Broken)?;
                    continue;
                }
                Ok(Message::Pong(_)) => continue,
                Ok(Message::Close { code, .. }) => return Err(End::Peer(code)),
                Err(error) => return Err(End::Unreadable(error)),
            };
            match protocol::decode_client(&payload, self.encoding) {
                Ok(frame) => return Ok(frame),
                Err(error) => {
                    let answer = reader::answer_to(&error, &payload, self.encoding)?;
                    self.tell(answer).await?;
                }
            }
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
