//! What a later minor version may say: fields and kinds that this release does not know. Compiled into the build that
//! the test of mixed releases runs beside the present one, and into nothing else.

use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint};

use crate::codec::Encoding;
use crate::notify::Entry;

/// A field that no release has, far above those that will be given out.
const FIELD: u32 = 1000;

/// A frame of the server with a field more.
pub(crate) fn widened(frame: Bytes, encoding: Encoding) -> Bytes {
    let mut out = BytesMut::with_capacity(frame.len() + 32);
    match encoding {
        Encoding::Json => {
            out.put_slice(frame.strip_suffix(b"}").unwrap_or(&frame));
            out.put_slice(br#","next":{"since":"v1.1"}}"#);
        }
        Encoding::Proto => {
            out.put_slice(&frame);
            encode_key(FIELD, WireType::Varint, &mut out);
            encode_varint(1, &mut out);
        }
    }
    out.freeze()
}

/// An entry of a kind that no release has, in the name of the node that says `beside`.
pub(crate) fn announcement(beside: &Entry) -> String {
    format!("next.announced:{}@{}", beside.id, beside.node)
}
