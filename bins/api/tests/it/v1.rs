//! `/v1`.

mod admin;
mod agents;
mod auth;
mod devices;
mod openapi;
mod rooms;
mod runs;
mod stream;
mod tool_calls;
mod users;
mod ws;
