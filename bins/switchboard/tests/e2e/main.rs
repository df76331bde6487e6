//! The product as its clients see it: real processes, real PostgreSQL, real sockets.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod agents;
mod bridge;
mod busy;
mod chaos;
mod commands;
mod completion;
mod compose;
mod conversation;
mod devices;
mod doors;
mod drain;
mod ending;
mod expiry;
mod frames;
mod input;
mod listener;
mod livebox;
mod local;
mod members;
mod meters;
mod notifications;
mod outage;
mod pooler;
mod presence;
mod program;
mod push_chaos;
mod raw;
mod receiver;
mod robot;
mod runs;
mod secrets;
mod session;
mod signin;
mod single;
mod slow;
mod sse;
mod takeover;
mod task_actions;
mod tasks;
mod tools;
mod traces;
mod webhooks;
mod wire;
mod world;
