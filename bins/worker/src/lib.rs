//! The worker role: work that nobody waits for.
//!
//! Here are [`scheduler`], which works on tasks, [`notifications`], which decides on them and pushes, [`retention`], which removes what is spent, [`rescue`], which moves on what
//! stands still, and [`presence`], which lets go of people whose node is gone. Every worker does all of it, without a leader: what one does
//! is claimed in the statement that does it, so any number may run, die and come back.
//!
//! What never lives here: a listener for clients, SQL, a decision kept in memory alone, work without a
//! bound on how much of it is done at once.

pub mod notifications;
pub mod presence;
pub mod rescue;
pub mod retention;
mod role;
pub mod scheduler;

pub use retention::{Retention, RetentionMetrics};
pub use role::{build, install};
