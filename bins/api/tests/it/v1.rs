//! `/v1`.

mod admin;
mod agents;
mod auth;
mod devices;
mod hooks;
mod notifications;
mod openapi;
mod push;
mod rooms;
mod runs;
mod stream;
mod tasks;
mod tool_calls;
mod users;
mod ws;
