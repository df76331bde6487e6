//! What agents say and hear, to and from protobuf.

mod autocomplete;
mod run;
mod tool;
