//! Kinds and codes of errors: the closed lists that faces map to statuses and close codes.

use std::fmt;

/// What sort of failure an error is. Libraries say it by `kind()`; only the faces (HTTP, WebSocket,
/// command line) turn it into a status, a close code or a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request itself is wrong; repeating it changes nothing.
    Invalid,
    /// Nobody is signed in, or what proves it is not good.
    Unauthenticated,
    /// Signed in, but not allowed.
    Forbidden,
    /// There is no such thing, or the caller may not know of it.
    NotFound,
    /// The thing is in a state that does not allow this.
    Conflict,
    /// Too much at once; later it works.
    RateLimited,
    /// Refused for a while to protect an account.
    Locked,
    /// More bytes than are taken.
    TooLarge,
    /// What the answer depends on (the database) does not answer; later it works.
    Unavailable,
    /// The answer took longer than it may.
    Timeout,
    /// A fault of ours.
    Internal,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal => $kind:ident,)*) => {
        /// The stable name of an error that clients can act on. Listed in `docs/errors.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name as it goes over the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The kind of failure this code belongs to.
            #[must_use]
            pub const fn kind(self) -> ErrorKind {
                match self { $(Self::$name => ErrorKind::$kind,)* }
            }
        }
    };
}

codes! {
    /// A field is missing, unknown, of the wrong type or outside of what is allowed.
    InvalidField = "invalid_field" => Invalid,
    /// The body or frame is not what it should be at all (no JSON, no object).
    Malformed = "malformed" => Invalid,
    /// No credentials, or they are not good.
    Unauthenticated = "unauthenticated" => Unauthenticated,
    /// Handle or password is wrong.
    BadCredentials = "bad_credentials" => Unauthenticated,
    /// The access token is past its time: refresh it.
    TokenExpired = "token_expired" => Unauthenticated,
    /// The sign-in was ended: log in again.
    SessionRevoked = "session_revoked" => Unauthenticated,
    /// A refresh token came a second time: its whole family is revoked.
    RefreshReused = "refresh_reused" => Unauthenticated,
    /// The ticket is unknown, used or past its time.
    BadTicket = "bad_ticket" => Unauthenticated,
    /// The call of a hook is not signed, or not by who has its secret, or too long ago.
    BadSignature = "bad_signature" => Unauthenticated,
    /// Not allowed for this person.
    Forbidden = "forbidden" => Forbidden,
    /// The account is disabled.
    Disabled = "disabled" => Forbidden,
    /// Registration is not open here.
    RegistrationClosed = "registration_closed" => Forbidden,
    /// The browser's `Origin` is not in `gateway.allowed_origins`.
    OriginRefused = "origin_refused" => Forbidden,
    /// There is no such thing, or the caller may not know of it.
    NotFound = "not_found" => NotFound,
    /// The method is not offered on this path.
    MethodNotAllowed = "method_not_allowed" => Invalid,
    /// The body is of a type that is not taken here.
    UnsupportedMediaType = "unsupported_media_type" => Invalid,
    /// The handle is taken.
    HandleTaken = "handle_taken" => Conflict,
    /// The thing is in a state that does not allow this.
    Conflict = "conflict" => Conflict,
    /// The message was deleted.
    MessageDeleted = "message_deleted" => Conflict,
    /// The nonce was used by the same sender for another kind of call.
    NonceReused = "nonce_reused" => Conflict,
    /// Too many requests; `Retry-After` says when to come back.
    RateLimited = "rate_limited" => RateLimited,
    /// Too many failed sign-ins; the account is locked for a while.
    Locked = "locked" => Locked,
    /// The body or frame is larger than is taken.
    TooLarge = "too_large" => TooLarge,
    /// The node has as many connections as it takes.
    ConnectionLimit = "connection_limit" => Unavailable,
    /// The database does not answer; try again.
    Unavailable = "unavailable" => Unavailable,
    /// The answer took too long; try again.
    Timeout = "timeout" => Timeout,
    /// A fault of the server.
    Internal = "internal" => Internal,
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A value that is not allowed: names the field, what was given and what is allowed.
///
/// Secrets are never put into `given`; constructors of secret fields say only the length.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}{place}: {given} is not allowed; allowed is {allowed}")]
pub struct Invalid {
    /// The field as the client names it.
    pub field: &'static str,
    /// Where inside of the field, if it is a list or an object: `[3].path`. Empty for the field itself.
    pub place: String,
    /// What was given, shortened.
    pub given: String,
    /// What is allowed.
    pub allowed: String,
}

impl Invalid {
    /// An error about `field`, showing at most 64 characters of what was given.
    pub fn new(field: &'static str, given: &str, allowed: impl Into<String>) -> Self {
        let mut shown: String = given.chars().take(64).collect();
        if shown.len() < given.len() {
            shown.push_str("...");
        }
        Self::described(field, format!("{shown:?}"), allowed)
    }

    /// An error about a field whose value must not be shown; `given` describes it.
    pub fn described(field: &'static str, given: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { field, place: String::new(), given: given.into(), allowed: allowed.into() }
    }

    /// The same error, about this place inside of the field.
    #[must_use]
    pub fn inside(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_distinct_names() {
        let mut names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }

    #[test]
    fn long_values_are_shortened() {
        let invalid = Invalid::new("name", &"x".repeat(500), "1 to 80 characters");
        assert!(invalid.to_string().len() < 200, "{invalid}");
    }
}
