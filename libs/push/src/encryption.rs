//! Encryption of what push services pass on (RFC 8291, in the form `aes128gcm` of RFC 8188, one record).
//!
//! Each message has a key pair and a salt of its own. From the agreement of that key with the device's, and the secret that
//! device and sender share, comes the key of the message, so the service in between reads nothing, and a key is never used twice.
//!
//! ```text
//! body:   salt (16) | record size (4) | 65 | our public key (65) | encrypted record
//! record: plaintext | 2
//! ```

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use aws_lc_rs::rand;

use crate::target::Recipient;

/// What a body may have, and the size of its only record: what every push service takes (RFC 8030, section 7.2).
const RECORD: u32 = 4096;
const SALT: usize = 16;
/// Salt, record size, length of the key, key.
const HEADER: usize = SALT + 4 + 1 + 65;
/// What ends the last record.
const LAST: u8 = 2;
const TAG: usize = 16;

/// The longest plaintext, in bytes.
pub const MAX_PLAINTEXT: usize = RECORD as usize - HEADER - 1 - TAG;

/// Why something was not encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EncryptionError {
    /// Longer than [`MAX_PLAINTEXT`].
    #[error("the payload has {0} bytes, and at most {MAX_PLAINTEXT} can be sent")]
    TooLong(usize),
    /// The library gave no reason: no randomness, or a key that is none.
    #[error("the payload could not be encrypted")]
    Failed,
}

impl From<Unspecified> for EncryptionError {
    fn from(_: Unspecified) -> Self {
        Self::Failed
    }
}

/// The body of a request to a push service.
///
/// # Errors
///
/// See [`EncryptionError`].
pub(crate) fn encrypt(plaintext: &[u8], to: &Recipient) -> Result<Vec<u8>, EncryptionError> {
    let mut salt = [0; SALT];
    rand::fill(&mut salt)?;
    seal(plaintext, to, &PrivateKey::generate(&ECDH_P256)?, salt)
}

fn seal(
    plaintext: &[u8],
    to: &Recipient,
    own: &PrivateKey,
    salt: [u8; SALT],
) -> Result<Vec<u8>, EncryptionError> {
    if plaintext.len() > MAX_PLAINTEXT {
        return Err(EncryptionError::TooLong(plaintext.len()));
    }
    let public = own.compute_public_key()?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, to.public.as_slice());
    let input = agree(own, theirs, Unspecified, |shared| {
        let info = [b"WebPush: info\0", to.public.as_slice(), public.as_ref()];
        derive::<32>(&Salt::new(HKDF_SHA256, &to.secret).extract(shared), &info)
    })?;
    let prk = Salt::new(HKDF_SHA256, &salt).extract(&input);
    let key = derive::<16>(&prk, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce = derive::<12>(&prk, &[b"Content-Encoding: nonce\0"])?;

    let mut record = [plaintext, &[LAST]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key)?);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)?;

    let length = u8::try_from(public.as_ref().len()).map_err(|_| EncryptionError::Failed)?;
    Ok([salt.as_slice(), &RECORD.to_be_bytes(), &[length], public.as_ref(), &record].concat())
}

/// So many bytes of key material.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derive<const LENGTH: usize>(prk: &Prk, info: &[&[u8]]) -> Result<[u8; LENGTH], Unspecified> {
    let mut key = [0; LENGTH];
    prk.expand(info, Length(LENGTH))?.fill(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;
    use testkit::push::decrypt::decrypt;

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    fn private(text: &str) -> PrivateKey {
        PrivateKey::from_private_key(&ECDH_P256, &bytes(text)).unwrap()
    }

    fn recipient(key: &PrivateKey, secret: [u8; 16]) -> Recipient {
        Recipient { public: key.compute_public_key().unwrap().as_ref().try_into().unwrap(), secret }
    }

    #[test]
    fn the_published_example_is_what_we_make() {
        // RFC 8291, appendix A.
        let device = private("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94");
        let own = private("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw");
        let to = recipient(&device, bytes("BTBZMqHH6r4Tts7J_aSIgg").try_into().unwrap());
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let body = seal(b"When I grow up, I want to be a watermelon", &to, &own, salt).unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.encode(body),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6P\
             Bru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn the_longest_fills_what_services_take_and_a_longer_one_is_refused() {
        let device = PrivateKey::generate(&ECDH_P256).unwrap();
        let to = recipient(&device, [7; 16]);
        let body = encrypt(&[b'a'; MAX_PLAINTEXT], &to).unwrap();
        assert_eq!(body.len(), 4096);
        assert_eq!(decrypt(&device, &to.secret, &body), Ok(vec![b'a'; MAX_PLAINTEXT]));
        let error = encrypt(&[b'a'; MAX_PLAINTEXT + 1], &to);
        assert_eq!(error, Err(EncryptionError::TooLong(MAX_PLAINTEXT + 1)));
    }

    #[test]
    fn no_key_and_no_salt_is_used_twice() {
        let to = recipient(&PrivateKey::generate(&ECDH_P256).unwrap(), [7; 16]);
        let (one, other) = (encrypt(b"same", &to).unwrap(), encrypt(b"same", &to).unwrap());
        assert_ne!(one[..SALT], other[..SALT]);
        assert_ne!(one[SALT + 5..HEADER], other[SALT + 5..HEADER]);
    }

    proptest! {
        #[test]
        fn what_is_encrypted_is_decrypted_by_the_device_and_by_no_other(
            plain in proptest::collection::vec(any::<u8>(), 0..=MAX_PLAINTEXT),
            secret in any::<[u8; 16]>(),
        ) {
            let device = PrivateKey::generate(&ECDH_P256).unwrap();
            let body = encrypt(&plain, &recipient(&device, secret)).unwrap();
            prop_assert_eq!(body.len(), HEADER + plain.len() + 1 + TAG);
            prop_assert_eq!(decrypt(&device, &secret, &body), Ok(plain));
            let other = PrivateKey::generate(&ECDH_P256).unwrap();
            prop_assert!(decrypt(&other, &secret, &body).is_err());
            let mut wrong = secret;
            wrong[0] ^= 1;
            prop_assert!(decrypt(&device, &wrong, &body).is_err());
        }
    }
}
