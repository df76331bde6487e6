//! `switchboard-api`: one node of role api: REST, and Server-Sent Events at `/v1/stream`.

use std::process::ExitCode;

use node::RoleName;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    node::app::role_main(RoleName::Api, async |settings, id| {
        let listener = node::bind("http.listen", settings.http.listen).await?;
        let admin = node::bind("admin.listen", settings.admin.listen).await?;
        api::build(settings, id, listener, admin).await
    })
}
