//! Everything in one process on the embedded database: its folder, the demo that it begins with, and what is said at the start.

mod demo;
mod folder;
mod greeting;

pub(crate) use demo::Demo;
pub(crate) use folder::{DEMO_FILES, EXPORTED, Folder, folder_of, network};
pub(crate) use greeting::greeting;
