//! Switchboard's main program: every role in one process, a local cluster, and the commands of whoever runs it.
//!
//! [`cli`] is the command line. [`commands`] has one module for each thing it does; [`cluster`] runs a cluster of
//! processes on this machine; `embedded` is the one process on the embedded database. The roles themselves are crates of their own, which `switchboard node ROLE`
//! and the role binaries run alike.
//!
//! What never lives here: what a role does.

mod ask;
pub mod cli;
pub mod cluster;
pub mod commands;
mod conversation;
mod demo;
mod embedded;
mod hold;
mod secret_file;
pub mod signals;
