//! One node: its process, its addresses, its log.

use std::fs::{self, File};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use localpg::tether::{self, OnParentDeath};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::{ClusterOptions, DENIED, PATIENCE, clock};
use crate::http;
use crate::port::Port;
use crate::proxy::Proxy;

/// How often a node is asked whether it is ready.
const ASK: Duration = Duration::from_millis(20);

/// How much of a log is shown.
const TAIL: usize = 6000;

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Api,
    Gateway,
    Worker,
    All,
}

impl Role {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Gateway => "gateway",
            Self::Worker => "worker",
            Self::All => "all",
        }
    }
}

#[derive(Debug)]
pub(super) struct Node {
    name: String,
    role: Role,
    arguments: Vec<&'static str>,
    folder: PathBuf,
    binary: PathBuf,
    environment: Vec<(String, String)>,
    listen: Port,
    admin: Port,
    log: PathBuf,
    proxy: Option<Proxy>,
    child: Option<Child>,
}

impl Node {
    pub(super) fn new(
        role: Role,
        number: usize,
        binary: &Path,
        dir: &Path,
        options: &ClusterOptions,
        database_url: &str,
    ) -> Self {
        let name = format!("{}-{number}", role.name());
        let proxy = options.proxies.then(|| Proxy::start(address_of(database_url)));
        let url = match &proxy {
            Some(proxy) => proxy.url(database_url),
            None => database_url.to_owned(),
        };
        let mut node = Self::with(name, role, binary, dir);
        node.arguments = vec!["node", role.name()];
        node.proxy = proxy;
        node.set("cluster.mode", "multi");
        node.set("database.url", &url);
        node.set("secrets.signing_key_dir", &dir.join("keys").display().to_string());
        node.set("push.vapid_key_dir", &dir.join("push").display().to_string());
        node.obey(options);
        node
    }

    /// Every role in one process, on the embedded database in this folder.
    pub(super) fn alone(binary: &Path, dir: &Path, options: &ClusterOptions, folder: &Path) -> Self {
        let mut node = Self::with(Role::All.name().to_owned(), Role::All, binary, dir);
        node.arguments = vec!["--no-demo"];
        folder.clone_into(&mut node.folder);
        node.obey(options);
        node
    }

    fn with(name: String, role: Role, binary: &Path, dir: &Path) -> Self {
        let log = dir.join(format!("{name}.log"));
        let (listen, admin) = (Port::reserve(), Port::reserve());
        let mut node = Self {
            name,
            role,
            arguments: Vec::new(),
            folder: dir.to_owned(),
            binary: binary.to_owned(),
            environment: Vec::new(),
            listen,
            admin,
            log,
            proxy: None,
            child: None,
        };
        node.set("admin.listen", &node.admin.addr().to_string());
        match role {
            Role::Api | Role::All => node.set("http.listen", &node.listen.addr().to_string()),
            Role::Gateway => node.set("gateway.listen", &node.listen.addr().to_string()),
            Role::Worker => {}
        }
        node
    }

    /// A later one wins.
    fn set(&mut self, key: &str, value: &str) {
        self.environment.push((variable(key), value.to_owned()));
    }

    /// What the test sets, and the clock that it gives.
    fn obey(&mut self, options: &ClusterOptions) {
        let name = self.name.clone();
        for (key, value) in options.settings_of(&name) {
            self.set(key, value);
        }
        self.environment.extend(options.clock_of(&name).map(clock::off_by).into_iter().flatten());
    }

    /// Whether a test means this one. One that is alone stands for all.
    pub(super) fn answers_to(&self, name: &str) -> bool {
        self.role == Role::All || self.name == name
    }

    /// What is run at the next start.
    pub(super) fn set_binary(&mut self, binary: &Path) {
        binary.clone_into(&mut self.binary);
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn listen(&self) -> SocketAddr {
        self.listen.addr()
    }

    pub(super) fn admin(&self) -> SocketAddr {
        self.admin.addr()
    }

    pub(super) const fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }

    pub(super) async fn spawn(&mut self) {
        assert!(self.child.is_none(), "{} runs already", self.name);
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.unwrap_or_else(|error| panic!("cannot open {}: {error}", self.log.display()));
        let errors = log.try_clone().expect("one more handle of a file");
        let mut command = tether::command(&self.binary, OnParentDeath::Kill);
        clean_environment(&mut command);
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .kill_on_drop(true);
        let child = tether::spawn(command).await;
        self.child =
            Some(child.unwrap_or_else(|error| panic!("cannot run {}: {error}", self.binary.display())));
    }

    pub(super) async fn until_ready(&mut self) {
        self.until("ready", |status, _| (status == 200).then_some(())).await;
    }

    pub(super) async fn until_not_ready(&mut self) -> String {
        self.until("not ready", |status, body| (status == 503).then(|| body.to_owned())).await
    }

    /// Asks until the answer is the one that is waited for.
    async fn until<T>(&mut self, what: &str, wanted: impl Fn(u16, &str) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let addr = self.admin();
        let mut last = String::from("nothing");
        loop {
            match timeout(PATIENCE, http::get(addr, "/healthz/ready")).await {
                Ok(Ok((status, body))) => {
                    if let Some(found) = wanted(status, &body) {
                        return found;
                    }
                    last = format!("{status} {body}");
                }
                Ok(Err(error)) => last = error.to_string(),
                Err(_) => {}
            }
            if let Some(Ok(Some(status))) = self.child.as_mut().map(Child::try_wait) {
                panic!("{} ended ({status}) before it was {what}\n{}", self.name, self.log_tail());
            }
            assert!(
                Instant::now() < deadline && self.child.is_some(),
                "{} is not {what}; its last answer was {last}\n{}",
                self.name,
                self.log_tail()
            );
            sleep(ASK).await;
        }
    }

    pub(super) async fn kill(&mut self) {
        let mut child = self.take();
        child.kill().await.unwrap_or_else(|error| panic!("{} cannot be killed: {error}", self.name));
    }

    pub(super) async fn until_ended(&mut self) -> ExitStatus {
        let mut child = self.take();
        match timeout(PATIENCE, child.wait()).await {
            Ok(ended) => ended.expect("the end of a child"),
            Err(_) => panic!("{} does not end\n{}", self.name, self.log_tail()),
        }
    }

    fn take(&mut self) -> Child {
        self.child.take().unwrap_or_else(|| panic!("{} does not run", self.name))
    }

    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(super) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    pub(super) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let pid = self.pid().and_then(|pid| Pid::from_raw(pid.try_into().ok()?));
        let pid = pid.unwrap_or_else(|| panic!("{} does not run", self.name));
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{} takes no signal: {error}", self.name));
    }

    /// Kills it, whatever state it is in, and waits for the end.
    pub(super) fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.start_kill());
            let deadline = Instant::now() + Duration::from_secs(5);
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
        }
    }

    pub(super) fn log(&self) -> String {
        fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Fails the test when the database refused something to this node, which may have gone on without.
    pub(super) fn check_rights(&self) {
        let log = self.log();
        let denied = log.lines().find(|line| line.contains(DENIED));
        assert!(denied.is_none(), "{} lacks a right: {}", self.name, denied.unwrap_or_default());
    }

    pub(super) fn log_tail(&self) -> String {
        let log = self.log();
        let tail = log.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
        // What a panic says stands before its backtrace, which may be long.
        let from = log.rfind(" panicked at ").map_or(tail, |panic| tail.min(panic));
        let from = log[..from].rfind('\n').map_or(0, |end| end + 1);
        format!("--- {} ({})\n{}", self.name, self.log.display(), &log[from..])
    }
}

/// Takes away what the shell of whoever runs the tests says about Switchboard.
pub(super) fn clean_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("SWITCHBOARD_")) {
            command.env_remove(name);
        }
    }
}

/// `gateway.behind_limit` is `SWITCHBOARD__GATEWAY__BEHIND_LIMIT`.
fn variable(key: &str) -> String {
    format!("SWITCHBOARD__{}", key.replace('.', "__").to_uppercase())
}

fn address_of(url: &str) -> SocketAddr {
    let authority = url.split("://").nth(1).and_then(|rest| rest.split(['/', '?']).next());
    let host = authority.and_then(|authority| authority.rsplit('@').next());
    host.and_then(|host| host.to_socket_addrs().ok()?.next())
        .unwrap_or_else(|| panic!("a proxy needs a host and a port in the database's URL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_become_variables_and_urls_addresses() {
        assert_eq!(variable("secrets.signing_key_dir"), "SWITCHBOARD__SECRETS__SIGNING_KEY_DIR");
        assert_eq!(address_of("postgres://a:b%40@127.0.0.1:5433/x?y").to_string(), "127.0.0.1:5433");
    }
}
