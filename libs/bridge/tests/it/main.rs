//! The agents against a gateway and an API that follow a script, and a model that says what the test wants.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod demo;
mod failures;
#[path = "../../../client/tests/it/fake.rs"]
#[expect(dead_code, reason = "it is the gateway of the client's tests, which use more of it")]
mod fake;
mod history;
mod stage;
mod tools;

// Used by `fake`.
use {base64 as _, fastwebsockets as _, sha1 as _};
