//! SQLite: the contract suite.

use std::sync::Arc;

use prometheus::Registry;
use store::sqlite::Sqlite;

use crate::suite::Subject;

pub(crate) async fn subject() -> Subject {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Sqlite::open(&folder.path().join("switchboard.db"), &Registry::new()).expect("a database");
    Subject::new(Arc::new(store), folder)
}

mod contract {
    crate::suite::contract_tests!(crate::sqlite::subject);
}
