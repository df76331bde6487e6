//! `/v1`.

mod admin;
mod agents;
mod auth;
mod devices;
mod openapi;
mod rooms;
mod users;
mod ws;
