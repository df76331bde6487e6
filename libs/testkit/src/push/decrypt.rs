//! What a browser does with the body of a push (RFC 8291, RFC 8188).

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};

/// Salt, record size, length of the key.
const FIXED: usize = 21;
const POINT: usize = 65;

/// The plaintext of a body with one record, for the browser with this key and secret.
///
/// # Errors
///
/// What is wrong with the body.
pub fn decrypt(key: &PrivateKey, auth: &[u8], body: &[u8]) -> Result<Vec<u8>, String> {
    let (fixed, rest) = body.split_at_checked(FIXED).ok_or("the header is cut off")?;
    let (salt, size) = (&fixed[..16], &fixed[16..20]);
    if usize::from(fixed[20]) != POINT {
        return Err(format!("a key of {} bytes", fixed[20]));
    }
    let (theirs, record) = rest.split_at_checked(POINT).ok_or("the key is cut off")?;
    let size = u32::from_be_bytes(size.try_into().map_err(|_| "no record size")?);
    if size < 18 || record.len() > size as usize {
        return Err(format!("records of {size} bytes, and {} that came", record.len()));
    }

    let own = key.compute_public_key().map_err(|_| "no public key")?;
    let info = [b"WebPush: info\0", own.as_ref(), theirs].concat();
    let input = agree(key, UnparsedPublicKey::new(&ECDH_P256, theirs), "a key off the curve", |shared| {
        Ok(first_block(&hmac(auth, shared), &info))
    })?;
    let prk = hmac(salt, &input);
    let content_key = &first_block(&prk, b"Content-Encoding: aes128gcm\0")[..16];
    let nonce = &first_block(&prk, b"Content-Encoding: nonce\0")[..NONCE_LEN];

    let opener = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, content_key).map_err(|_| "no key")?);
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| "no nonce")?;
    let mut record = record.to_vec();
    let plain =
        opener.open_in_place(nonce, Aad::empty(), &mut record).map_err(|_| "it can't be decrypted")?;
    // Zeros may follow the mark of the last record.
    let end = plain.iter().rposition(|byte| *byte != 0).filter(|end| plain[*end] == 2);
    Ok(plain[..end.ok_or("the last record is not marked as such")?].to_vec())
}

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    sign(&Key::new(HMAC_SHA256, key), message).as_ref().to_vec()
}

/// The first block of HKDF-Expand (RFC 5869): no more is needed anywhere here.
fn first_block(prk: &[u8], info: &[u8]) -> Vec<u8> {
    hmac(prk, &[info, &[1]].concat())
}
