//! `switchboard-worker`: one node of role worker: work that nobody waits for.

use std::process::ExitCode;

use node::RoleName;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    node::app::role_main(RoleName::Worker, async |settings, id| {
        let admin = node::bind("admin.listen", settings.admin.listen).await?;
        worker::build(settings, id, admin).await
    })
}
