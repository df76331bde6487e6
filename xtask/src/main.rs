//! Repo rules that run.

fn main() {}
