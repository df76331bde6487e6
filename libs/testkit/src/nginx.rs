//! A real nginx in front of nodes.
//!
//! One process without a master, in a directory of its own, that ends with the test. What stands in `http { ... }` is the test's: best
//! what a page of the documentation tells operators to write, with the test's addresses put in.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use localpg::tether::{self, OnParentDeath};
use tokio::net::TcpStream;
use tokio::process::Child;
use tokio::time::sleep;

use crate::port::Port;
use crate::workspace;

/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running nginx; killed when it is dropped.
#[derive(Debug)]
pub struct Nginx {
    port: Port,
    log: PathBuf,
    child: Child,
}

impl Nginx {
    /// Starts one on a free port, with what `site` says for that port between the braces of `http`.
    ///
    /// # Panics
    ///
    /// When there is no nginx (Debian: `apt-get install nginx`), or it does not take the configuration.
    pub async fn start(site: impl FnOnce(SocketAddr) -> String) -> Self {
        let port = Port::reserve();
        let dir = workspace::log_dir().join(format!("nginx-{}", port.number()));
        make_dir(&dir);
        let (file, log) = (dir.join("nginx.conf"), dir.join("error.log"));
        fs::write(&file, configuration(&dir, &site(port.addr()))).expect("a file in a directory of ours");
        let printed = File::create(&log).expect("a file in a directory of ours");
        let errors = printed.try_clone().expect("one more handle of a file");
        let mut command = tether::command(program(), OnParentDeath::Kill);
        command
            .arg("-p")
            .arg(&dir)
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(printed)
            .stderr(errors)
            .kill_on_drop(true);
        let child = tether::spawn(command).await;
        let mut nginx = Self { port, log, child: child.expect("nginx runs") };
        nginx.until_listening().await;
        nginx
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.port.addr()
    }

    /// What it has complained about so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    async fn until_listening(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(self.addr()).await.is_err() {
            let ended = self.child.try_wait().expect("a child of ours");
            assert!(ended.is_none() && Instant::now() < deadline, "nginx does not listen:\n{}", self.log());
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Debian keeps it off the path of most users.
fn program() -> PathBuf {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<_> = std::env::split_paths(&directories).collect();
    places.push("/usr/sbin".into());
    let found = places.into_iter().map(|place| place.join("nginx")).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("there is no nginx (on Debian: apt-get install nginx)"))
}

fn make_dir(dir: &Path) {
    fs::create_dir_all(dir).unwrap_or_else(|error| panic!("cannot make {}: {error}", dir.display()));
}

/// The whole file: everything that nginx writes stays in `dir`.
fn configuration(dir: &Path, site: &str) -> String {
    let dir = dir.display();
    format!(
        "daemon off;\nmaster_process off;\npid {dir}/nginx.pid;\nerror_log {dir}/error.log warn;\n\
         worker_rlimit_nofile 16384;\nevents {{ worker_connections 8192; }}\n\
         http {{\naccess_log off;\nclient_body_temp_path {dir}/body;\nproxy_temp_path {dir}/proxy;\n\
         fastcgi_temp_path {dir}/fastcgi;\nuwsgi_temp_path {dir}/uwsgi;\nscgi_temp_path {dir}/scgi;\n{site}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_serves_what_the_test_says_and_ends_with_it() {
        let nginx = Nginx::start(|addr| format!("server {{ listen {addr}; return 204; }}")).await;
        let (addr, (status, _)) =
            (nginx.addr(), crate::http::get(nginx.addr(), "/").await.expect("an answer"));
        assert_eq!(status, 204);
        assert_eq!(nginx.log(), "");
        drop(nginx);
        while TcpStream::connect(addr).await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    }
}
