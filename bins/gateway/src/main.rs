//! `switchboard-gateway`: one node of role gateway: WebSockets at `/v1/gateway`.

use std::process::ExitCode;

use node::RoleName;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    node::app::role_main(RoleName::Gateway, async |settings, id| {
        let listener = node::bind("gateway.listen", settings.gateway.listen).await?;
        let admin = node::bind("admin.listen", settings.admin.listen).await?;
        gateway::build(settings, id, listener, admin).await
    })
}
