//! What every request passes, from the outside in: [`observe`], [`cors`], [`deadline`], and for the
//! sign-in routes [`rate_limit`].

pub mod cors;
pub mod deadline;
pub mod observe;
pub mod rate_limit;
