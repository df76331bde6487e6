//! Who somebody is, and what proves it.
//!
//! Passwords (argon2id), signing keys and the access tokens made with them, refresh tokens, tickets and tokens of agents
//! (random, stored as hashes), signatures of webhooks, the rate limit of the sign-in routes, the address of a client
//! behind proxies, and the sign-ins that have ended. [`Identity`] puts them together into what the faces
//! call: register, login, refresh, logout, authenticate, issue and redeem a ticket.
//!
//! What never lives here: HTTP, frames, SQL, what somebody may do in a room (the store's guards
//! decide that). No secret is ever logged, put into an error or kept in clear. Nothing here announces
//! events: they are given back to the caller.

pub mod addresses;
pub mod agents;
pub mod error;
pub mod keys;
pub mod limits;
pub mod password;
pub mod revocations;
pub mod secret;
pub mod service;
pub mod settings;
pub mod signature;
pub mod tokens;

pub use addresses::{ClientKey, TrustedProxies};
pub use agents::NewAgentToken;
pub use error::AuthError;
pub use keys::keeper::KeyKeeper;
pub use keys::{Jwks, Keys};
pub use limits::Limiter;
pub use password::Passwords;
pub use revocations::{Revocations, Standing};
pub use service::{
    Device, Identity, IssuedTicket, Login, NewPerson, Refreshed, Registered, Registration, SignIn, SignedIn,
    create_user,
};
pub use settings::{AuthSettings, KeyDriver, KeySettings, RegistrationMode, SecretSettings, TicketSettings};
pub use signature::{SignatureError, SigningSecret};
pub use tokens::{Access, Tokens};
