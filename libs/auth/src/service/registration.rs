//! Registering, also when it is done again because the answer was lost.
//!
//! The id of a person who registers with a key follows from the handle and the key. So the same call made again finds
//! the person that it made, on whatever node and however late, without anything being kept for it; another key finds the
//! handle taken. What a repeat gets, it gets as a login: for the password, and under the same limits.

use domain::{Role, UserId};
use sha2::{Digest as _, Sha256};
use store::accounts::NewUser;
use store::{Refusal, StoreError};
use uuid::Builder;

use super::{Device, Identity, Login, NewPerson, SignedIn, check_device, new_user};
use crate::error::AuthError;
use crate::settings::RegistrationMode;

/// A registration.
#[derive(Clone)]
pub struct Registration {
    /// Who.
    pub person: NewPerson,
    /// A device to be added with it.
    pub device: Option<Device>,
    /// Makes the call safe to repeat.
    pub key: Option<String>,
}

/// Somebody who is registered, and in.
#[derive(Debug, Clone)]
pub enum Registered {
    /// The account was made by this call.
    Now(Box<SignedIn>),
    /// It was made by an earlier call with the same key.
    Before(Box<SignedIn>),
}

impl Identity {
    /// Makes an account and signs in with it.
    ///
    /// # Errors
    ///
    /// `RegistrationClosed`; `Invalid`; the store's `HandleTaken`; `RateLimited`. For a key that made the account before:
    /// the store's `NonceReused` when the password is another one, else as [`Identity::login`].
    pub async fn register(&self, registration: &Registration) -> Result<Registered, AuthError> {
        if self.settings.registration == RegistrationMode::Closed {
            return Err(AuthError::RegistrationClosed);
        }
        self.keys.require()?;
        let Registration { person, device, key } = registration;
        check_device(device.as_ref())?;
        let id = key.as_deref().map_or_else(UserId::new, |key| id_by_key(&person.handle, key));
        let new = new_user(&self.passwords, person, Role::User, id).await?;
        let user = self.store.create_user(&new).await?;
        if key.is_some() && !self.is_fresh(&new).await? {
            return self.register_again(registration).await;
        }
        Ok(Registered::Now(Box::new(self.open_session(user, device.as_ref()).await?)))
    }

    /// Whether it is this call that made the account. Of an earlier one the hash has another salt.
    async fn is_fresh(&self, new: &NewUser) -> Result<bool, AuthError> {
        let there = self.store.credentials(&new.handle).await?;
        Ok(there.is_some_and(|there| there.password_hash == new.password_hash))
    }

    async fn register_again(&self, registration: &Registration) -> Result<Registered, AuthError> {
        let Registration { person, device, .. } = registration;
        let login = Login {
            handle: person.handle.clone(),
            password: person.password.clone(),
            device: device.clone(),
        };
        match self.login(&login).await {
            Ok(signed_in) => Ok(Registered::Before(Box::new(signed_in))),
            Err(AuthError::BadCredentials) => Err(StoreError::from(Refusal::NonceReused).into()),
            Err(error) => Err(error),
        }
    }
}

/// The id of whoever registers a handle with a key.
fn id_by_key(handle: &str, key: &str) -> UserId {
    // Neither text has a zero byte, so no two pairs are written alike.
    let digest = Sha256::new().chain_update(handle).chain_update([0]).chain_update(key).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    UserId(Builder::from_custom_bytes(bytes).into_uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_handle_and_key_has_an_id_of_its_own() {
        let id = id_by_key("alex", "k1");
        assert_eq!(id, id_by_key("alex", "k1"));
        for (handle, key) in [("alex", "k2"), ("sam", "k1"), ("alexk", "1"), ("ale", "xk1")] {
            assert_ne!(id, id_by_key(handle, key), "{handle} {key}");
        }
        assert_eq!(id.uuid().get_version_num(), 8);
    }
}
