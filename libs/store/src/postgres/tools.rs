//! Calls of tools in PostgreSQL.

use crate::postgres::statement::statements;

statements! {
    CANCEL = "tools/cancel";
}
