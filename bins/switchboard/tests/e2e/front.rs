//! A cluster behind nginx, configured as the page on proxies tells operators to.

use std::net::SocketAddr;

use client::Api;
use testkit::cluster::ClusterOptions;
use testkit::nginx::Nginx;

use crate::world::{Person, World};

const PAGE: &str = include_str!("../../../../docs/operations/proxies.md");

/// Nodes of a cluster believe the proxy about who calls.
pub(crate) fn trusting(options: ClusterOptions) -> ClusterOptions {
    options.setting("http.trusted_proxies", "127.0.0.1")
}

/// A proxy in front of two api and two gateway nodes.
pub(crate) struct Front {
    nginx: Nginx,
}

impl Front {
    pub(crate) async fn of(world: &World) -> Self {
        let block = PAGE.split("```nginx\n").nth(1).and_then(|rest| rest.split("```").next());
        let mut site = block.expect("the configuration on the page").to_owned();
        let mut put = |wanted: &str, real: &str| {
            assert!(site.contains(wanted), "the page says nothing of {wanted}");
            site = site.replace(wanted, real);
        };
        for number in 1..=2 {
            let api = world.cluster.api_url(number);
            put(&format!("api-{number}:8080"), api.trim_start_matches("http://"));
            let gateway = world.cluster.gateway_url(number);
            let gateway = gateway.trim_start_matches("ws://").split('/').next().expect("an address");
            put(&format!("gateway-{number}:8081"), gateway);
        }
        let listen = |addr: SocketAddr| site.replace("listen 443 ssl;", &format!("listen {addr};"));
        Self { nginx: Nginx::start(listen).await }
    }

    /// Where clients find REST.
    pub(crate) fn api_url(&self) -> String {
        format!("http://{}", self.nginx.addr())
    }

    /// Where clients find the gateway.
    pub(crate) fn gateway_url(&self) -> String {
        format!("ws://{}/v1/gateway", self.nginx.addr())
    }

    /// What it has complained about.
    pub(crate) fn log(&self) -> String {
        self.nginx.log()
    }

    /// Registers somebody with a device, through the proxy.
    pub(crate) async fn person(&self, handle: &str) -> Person {
        Person::register(Api::new(&self.api_url()).expect("an address of ours"), handle).await
    }
}
