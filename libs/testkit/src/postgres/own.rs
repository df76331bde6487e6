//! A server of one test's own, to be stopped, crashed, killed and frozen.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use localpg::{Options, Server};

use super::shared::own_dir;
use crate::port::Port;

/// A PostgreSQL server of one test: [`Server`]'s `stop`, `crash`, `kill`, `start_again`, `restart`, `pause`, `resume`,
/// `url` and `database`. It keeps its port over restarts, and nothing of it is left when it is dropped.
#[derive(Debug)]
pub struct OwnServer {
    // In this order: the server ends, then its files and port are free.
    server: Server,
    _files: Files,
    _port: Port,
}

impl OwnServer {
    /// A quick one: what was committed may be lost in a crash.
    ///
    /// # Panics
    ///
    /// When there is no PostgreSQL, with the reason.
    pub async fn fast() -> Self {
        Self::with(Options::throw_away).await
    }

    /// One that keeps what was committed, whatever happens.
    ///
    /// # Panics
    ///
    /// When there is no PostgreSQL, with the reason.
    pub async fn durable() -> Self {
        Self::with(Options::durable).await
    }

    /// One with the given options, such as settings.
    ///
    /// # Panics
    ///
    /// When there is no PostgreSQL, with the reason.
    pub async fn with(options: impl FnOnce(PathBuf) -> Options) -> Self {
        let files = Files(own_dir().await);
        let port = Port::reserve();
        let server = Server::start(options(files.0.clone()).port(port.number())).await;
        let server = server.unwrap_or_else(|error| panic!("no PostgreSQL for this test: {error}"));
        Self { server, _files: files, _port: port }
    }
}

impl Deref for OwnServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl DerefMut for OwnServer {
    fn deref_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}

#[derive(Debug)]
struct Files(PathBuf);

impl Drop for Files {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
