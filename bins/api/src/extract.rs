//! What is read from a request, strictly.
//!
//! Every extractor here refuses with a [`crate::Problem`] that names the field, what was given and what is
//! allowed. Text with NUL is refused everywhere: no database column can hold it.

pub mod address;
pub mod caller;
pub mod cursor;
mod describe;
pub mod free;
pub mod headers;
pub mod json;
pub mod path;
pub mod query;
pub mod wait;

pub use address::Address;
pub use caller::{Admin, Agent, Caller, Person};
pub use free::{Free, Lasting};
pub use headers::IdempotencyKey;
pub use json::{Json, Object, OptionalJson};
pub use path::Path;
pub use query::Query;
pub use wait::WaitQuery;
