//! Documents of runs that ended without their holder.

use domain::Invalid;
use domain::document::{Document, parse_ops};
use uuid::Uuid;

/// Documents that are in memory at one time.
pub(crate) const DOCUMENTS: u32 = 16;

/// The document of a run, and from which snapshot and to which version it was made.
#[derive(Debug)]
pub(crate) struct Patched {
    pub(crate) run: Uuid,
    /// Of the snapshot.
    pub(crate) version: i64,
    pub(crate) doc: String,
    /// With the patches.
    pub(crate) last: i64,
}

impl Patched {
    /// From a snapshot and the patches that follow on it, with their versions. Patches that do not fit are left out: nobody could show
    /// them.
    pub(crate) fn new<T: AsRef<str>>(
        run: Uuid,
        version: i64,
        doc: &str,
        versions: &[i64],
        ops: &[T],
    ) -> Self {
        match replayed(doc, ops) {
            Ok(doc) => Self { run, version, doc, last: versions.last().copied().unwrap_or(version) },
            Err(error) => {
                tracing::warn!(%run, %error, "patches of a run that is over do not fit its document");
                Self { run, version, doc: doc.to_owned(), last: version }
            }
        }
    }
}

fn replayed<T: AsRef<str>>(doc: &str, patches: &[T]) -> Result<String, Invalid> {
    let mut document = Document::parse(doc)?;
    for ops in patches {
        document.replay(&parse_ops(ops.as_ref())?)?;
    }
    Ok(document.to_json())
}
