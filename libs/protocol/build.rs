//! Compiles the protobuf schema of the gateway, without `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let schema = protox::compile(["switchboard/v1/gateway.proto"], ["proto"])?;
    // Ordered maps, so that one frame has one encoding.
    prost_build::Config::new().btree_map(["."]).compile_fds(schema)?;
    Ok(())
}
