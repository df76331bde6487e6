//! Values that are the content of a file: how secrets are mounted by compose, Kubernetes and systemd.
//!
//! `database.password_file` names the file whose content is the value of `database.password`, in every source and for
//! every key. It is read once, at the start.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::error::{SettingsError, Source};

/// What is put behind a key to name a file instead of a value.
pub(super) const SUFFIX: &str = "_file";

/// No value is longer; a device that never ends is no secret.
const LONGEST: u64 = 1024 * 1024;

/// The content of the file that `named_by` names for `key`, without the line ends at its end, which editors and `echo`
/// put there.
///
/// # Errors
///
/// A file that can't be read, is empty, too long, or no UTF-8. What it holds is never quoted.
pub(super) fn read(key: &str, path: &Path, named_by: &Source) -> Result<String, SettingsError> {
    let refuse = |reason: String| SettingsError::Content {
        key: key.to_owned(),
        path: path.to_owned(),
        named_by: named_by.clone(),
        reason,
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
        .map_err(|error| refuse(format!("can't be read: {error}")))?;
    if bytes.len() as u64 > LONGEST {
        return Err(refuse(format!("is longer than {LONGEST} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|_| refuse("is no UTF-8 text".to_owned()))?;
    match text.trim_end_matches(['\n', '\r']) {
        "" => Err(refuse("is empty".to_owned())),
        value => Ok(value.to_owned()),
    }
}
