//! The limit: two processes that keep a message, notify, and write to sockets, and do nothing else ([`crate::bare`]).

use std::sync::Arc;

use super::arm::{Arm, Sender, Stage};
use crate::Failure;
use crate::bare::Process;
use crate::database::{self, Database};
use crate::usage::Counted;
use crate::wire;

/// Two nodes.
pub(super) struct BareArm {
    nodes: [Process; 2],
    processes: Vec<Counted>,
}

impl BareArm {
    pub(super) async fn start(database: &Database, url: &str) -> Result<Self, Failure> {
        let (client, _driving) = database::connect(url).await?;
        client.batch_execute(include_str!("../../../sql/bare/schema.sql")).await?;
        let nodes = [Process::start(Some(url)).await?, Process::start(Some(url)).await?];
        let mut processes = vec![database.process().await?];
        for (n, node) in (1..).zip(&nodes) {
            processes.push(Counted::one(&format!("node-{n}"), node.pid()?));
        }
        Ok(Self { nodes, processes })
    }

    pub(super) async fn stop(self) -> Result<(), Failure> {
        for node in self.nodes {
            node.stop().await?;
        }
        Ok(())
    }
}

impl Arm for BareArm {
    async fn stage(&mut self, senders: usize, receivers: usize) -> Result<Stage, Failure> {
        let [from, to] = &self.nodes;
        let mut receiving = Vec::new();
        for _ in 0..receivers {
            receiving.push(wire::connect(&format!("{}/relay?receives", to.url), &[]).await?);
        }
        let (mut sending, mut idle) = (Vec::new(), Vec::new());
        for _ in 0..senders {
            let (reader, writer) = wire::connect(&format!("{}/relay", from.url), &[]).await?;
            sending.push(Sender { writer, frame: Arc::new(str::to_owned) });
            idle.push(reader);
        }
        Ok(Stage::new(sending, receiving, idle, None))
    }

    fn processes(&self) -> &[Counted] {
        &self.processes
    }
}
