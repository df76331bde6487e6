//! The product as its clients see it: real processes, real PostgreSQL, real sockets.

mod chaos;
mod listener;
