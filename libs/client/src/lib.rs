//! The Rust client of Switchboard: for tests, load, agents and the command line.
//!
//! - [`Api`]: the REST routes, with typed answers and [`ApiError`].
//! - [`Socket`]: one raw connection to a gateway, frame by frame, with the close code at its end.
//! - [`Session`]: a connection that lives on: tickets, identify and resume, cursors, heartbeat,
//!   reconnects with backoff, sends that are repeated until they are acknowledged.
//! - [`Consumer`]: the agent's side: what is asked of an agent, and the runs that it works on.
//!
//! What never lives here: anything of the server, SQL, a decision of the product. The client believes
//! the server about order and versions, and checks only that no event comes twice or is left out.

pub mod api;
pub mod consumer;
pub mod problem;
pub mod session;
pub mod socket;

pub use api::{Api, ApiError};
pub use consumer::{Consumer, ConsumerSettings};
pub use problem::Problem;
pub use session::{Session, SessionSettings, SignIn, State, Update, Updates};
pub use socket::{Connector, Credential, Socket, SocketError};
