//! The pair of a dm as the column `dm_pair` has it: both ids, the lower first, so that there is one way to write it.

use domain::UserId;

use crate::error::StoreError;

pub(crate) fn written(one: UserId, other: UserId) -> String {
    format!("{}:{}", one.min(other), one.max(other))
}

pub(crate) fn read(text: &str) -> Result<[UserId; 2], StoreError> {
    text.split_once(':')
        .and_then(|(one, other)| Some([one.parse().ok()?, other.parse().ok()?]))
        .ok_or_else(|| StoreError::Internal("a pair of a dm that is none".into()))
}
