//! How this program fails, and what it then ends with.

use std::fmt;
use std::process::ExitCode;

/// What anything here may fail with: shown, and the program ends.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The command line, or a file or an address that it names, can't be used as it is; nothing was measured.
#[derive(Debug)]
pub(crate) struct Unusable(String);

impl Unusable {
    /// `what`: the option, what was given, and what is wrong with it.
    pub(crate) fn because(what: impl Into<String>) -> Failure {
        Box::new(Self(what.into()))
    }
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unusable {}

/// 1: a scenario failed, or a budget is missed. 2, as for a command line that can't be read: it can't be used as it is given.
pub(crate) fn exit_code(failure: &Failure) -> ExitCode {
    ExitCode::from(if failure.is::<Unusable>() { 2 } else { 1 })
}
