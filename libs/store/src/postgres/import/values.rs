//! Values of rows as PostgreSQL sends and takes them, in binary.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use crate::number::{FOREVER, NEVER};
use crate::transfer::line::Value;
use crate::transfer::tables::{Kind, Table};

type Failed = Box<dyn Error + Sync + Send>;

/// Microseconds from 1970, where time begins elsewhere, to 2000, where it does in PostgreSQL.
const TO_2000: i64 = 946_684_800_000_000;

/// The types of a table's columns.
pub(super) fn types(table: &Table) -> Vec<Type> {
    table.columns.iter().map(|column| type_of(column.kind)).collect()
}

/// How PostgreSQL keeps such a value.
pub(crate) const fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Id => Type::UUID,
        Kind::Bytes => Type::BYTEA,
        Kind::Text => Type::TEXT,
        Kind::Json => Type::JSON,
        Kind::Integer => Type::INT4,
        Kind::Long => Type::INT8,
        Kind::Bool => Type::BOOL,
        Kind::Time => Type::TIMESTAMPTZ,
    }
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match self {
            Self::Null => return Ok(IsNull::Yes),
            Self::Id(id) => out.put_slice(id.as_bytes()),
            Self::Bytes(bytes) => out.put_slice(bytes),
            Self::Text(text) => out.put_slice(text.as_bytes()),
            Self::Number(number) if *ty == Type::INT4 => out.put_i32(i32::try_from(*number)?),
            Self::Number(number) => out.put_i64(*number),
            Self::Bool(given) => out.put_u8(u8::from(*given)),
            Self::Time(FOREVER) => out.put_i64(i64::MAX),
            Self::Time(NEVER) => out.put_i64(i64::MIN),
            Self::Time(micros) => out.put_i64(micros.checked_sub(TO_2000).ok_or("no time")?),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        Ok(match *ty {
            Type::UUID => Self::Id(Uuid::from_slice(raw)?),
            Type::BYTEA => Self::Bytes(raw.to_vec()),
            Type::TEXT | Type::JSON => Self::Text(std::str::from_utf8(raw)?.to_owned()),
            Type::INT4 => Self::Number(i32::from_be_bytes(raw.try_into()?).into()),
            Type::INT8 => Self::Number(i64::from_be_bytes(raw.try_into()?)),
            Type::BOOL => Self::Bool(raw == [1]),
            Type::TIMESTAMPTZ => match i64::from_be_bytes(raw.try_into()?) {
                i64::MAX => Self::Time(FOREVER),
                i64::MIN => Self::Time(NEVER),
                micros => Self::Time(micros.checked_add(TO_2000).ok_or("no time")?),
            },
            _ => return Err("a type that no column has".into()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failed> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
