//! Close codes: why a connection ends, and what the client should do.

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $reason:literal, $then:ident;)*) => {
        /// Why a connection was closed.
        ///
        /// The reason goes into the close frame, so it is short: a close frame holds 123 bytes of it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum CloseCode {
            $($(#[$doc])* $name,)*
        }

        impl CloseCode {
            /// Every code, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The number on the wire.
            #[must_use]
            pub const fn code(self) -> u16 {
                match self { $(Self::$name => $code,)* }
            }

            /// The text beside the number.
            #[must_use]
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$name => $reason,)* }
            }

            /// What a client should do after it.
            #[must_use]
            pub const fn then(self) -> AfterClose {
                match self { $(Self::$name => AfterClose::$then,)* }
            }

            /// The code of this number, if it is one of ours.
            #[must_use]
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }
        }
    };
}

/// What a client should do after a close. Numbers that are not listed mean [`AfterClose::Resume`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AfterClose {
    /// Reconnect with backoff and resume.
    Resume,
    /// Reconnect and identify: the session is gone, the cursors still hold.
    Identify,
    /// Not by itself: the same attempt ends the same way, or takes the place of another one.
    Stop,
}

codes! {
    /// Done; nothing was wrong.
    Normal = 1000, "done", Resume;
    /// The peer goes away (a page was left, a program ended).
    GoingAway = 1001, "going away", Resume;
    /// The WebSocket protocol itself was broken.
    ProtocolError = 1002, "protocol error", Resume;
    /// A kind of message that the subprotocol does not have: binary for JSON, text for protobuf.
    UnsupportedData = 1003, "unsupported data", Resume;
    /// Text that is not UTF-8.
    InvalidData = 1007, "invalid UTF-8", Resume;
    /// A WebSocket frame beyond what is read at all. A message that is too large gets 4011.
    MessageTooBig = 1009, "message too big", Resume;
    /// The node drains: reconnect after the delay of the `drain` frame, and resume elsewhere.
    NodeDrains = 1012, "node drains", Resume;
    /// A fault of the server.
    Internal = 4000, "internal error", Resume;
    /// A frame that is no frame: no JSON, no protobuf, no `op`.
    BadFrame = 4001, "bad frame", Resume;
    /// A version or encoding that is not offered.
    Unsupported = 4002, "unsupported version or encoding", Resume;
    /// Another frame came before `identify` or `resume`, or none in time.
    IdentifyFirst = 4003, "identify first", Resume;
    /// The ticket or token is not good.
    SignInFailed = 4004, "sign-in failed", Stop;
    /// A second `identify` or `resume` on one connection.
    AlreadyIdentified = 4005, "already identified", Resume;
    /// Too many frames.
    RateLimited = 4008, "rate limited", Resume;
    /// No heartbeat for two intervals.
    HeartbeatMissed = 4009, "heartbeat missed", Resume;
    /// The client read too slowly for too long.
    TooFarBehind = 4010, "behind for too long", Resume;
    /// A frame is larger than is taken.
    FrameTooLarge = 4011, "frame too large", Resume;
    /// The session can't be resumed.
    ResumeRefused = 4012, "resume refused, identify again", Identify;
    /// The node has as many connections as it takes.
    ConnectionLimit = 4013, "connection limit", Resume;
    /// The sign-in is over: fetch a new ticket or log in again first.
    SignInEnded = 4014, "token expired or revoked", Stop;
    /// A newer connection holds this consumer.
    ConsumerTakenOver = 4015, "consumer taken over", Stop;
    /// A newer connection holds this device.
    DeviceReplaced = 4017, "device connection replaced", Stop;
}

impl CloseCode {
    /// Whether a client must not reconnect by itself.
    #[must_use]
    pub const fn terminal(self) -> bool {
        matches!(self.then(), AfterClose::Stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_distinct_and_read_back() {
        for pair in CloseCode::ALL.windows(2) {
            assert!(pair[0].code() < pair[1].code(), "{pair:?}");
        }
        for code in CloseCode::ALL {
            assert_eq!(CloseCode::from_code(code.code()), Some(*code));
            assert!((1..=123).contains(&code.reason().len()), "{code:?}");
        }
        assert_eq!(CloseCode::from_code(4016), None);
    }

    #[test]
    fn the_terminal_ones_are_those_of_the_contract() {
        let terminal: Vec<u16> =
            CloseCode::ALL.iter().filter(|code| code.terminal()).map(|code| code.code()).collect();
        assert_eq!(terminal, [4004, 4014, 4015, 4017]);
    }
}
