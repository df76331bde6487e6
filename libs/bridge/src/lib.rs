//! Agents that come with Switchboard.
//!
//! - [`Bridge`]: its answers come from a model behind an OpenAI-compatible API. For each run it reads what was said in the
//!   room, asks the model, and shows the answer as it comes; tools of the model are tools in the browser of whoever
//!   asks.
//! - [`Demo`]: needs no model. It shows what an agent can do.
//!
//! ```text
//!   room, runs --REST--> conversation --POST /chat/completions--> model
//!                                                                   |  text, reasoning, tool calls
//!   tool messages <-- browser <-- tool call <-----------------------+--> items of the document
//!        '--------------- asked again, for at most so many rounds
//! ```
//!
//! | failure | then |
//! |---|---|
//! | 429, 5xx, no connection, a stall or a cut before anything was shown | asked again after a pause, or as `Retry-After` says, so many times |
//! | the same after something was shown | the run fails, with what was shown |
//! | 401, 403, 404, what can't be read, an error within the answer | the run fails at once |
//! | somebody cancels, or the run is lost | the request is dropped, which closes its connection |
//! | the room can't be read | tried again, then the run fails |
//!
//! Why a run failed is told to the people in the room: never with a key, an address, or what a server says about keys.
//!
//! What never lives here: sockets, consumers, documents (crate `client`); command lines.

mod answer;
mod demo;
mod error;
mod history;
mod message;
mod model;
mod names;
mod sse;
mod tools;
mod work;

pub use demo::Demo;
pub use error::ModelError;
pub use message::{Called, Message};
pub use model::{Model, ModelSettings, Patience};
pub use tools::Tools;
pub use work::{Bridge, BridgeSettings};
