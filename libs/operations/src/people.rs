//! Devices, accounts and signing keys: what has to be announced beside being written.

use domain::{DeviceId, UserId};
use store::sessions::EndedSession;

use crate::Operations;
use crate::error::Error;

impl Operations {
    /// Removes a device, and closes its live connection on whatever node.
    ///
    /// # Errors
    ///
    /// `NotFound` when the person has no such device.
    pub async fn delete_device(&self, user: UserId, device: DeviceId) -> Result<(), Error> {
        let epoch = self.store.delete_device(user, device).await?;
        self.announcer.device_fenced(device, epoch);
        Ok(())
    }

    /// Announces what ended when a person was disabled: their sign-ins, and the tokens of their agents. Every connection
    /// that came by one of them closes, on whatever node.
    ///
    /// # Errors
    ///
    /// Those of the store; the sign-ins are announced all the same.
    pub async fn person_disabled(&self, user: UserId, ended: &[EndedSession]) -> Result<(), Error> {
        for session in ended {
            self.announcer.session_ended(session);
        }
        for token in self.store.agent_tokens_of(user).await? {
            self.announcer.sign_in_ended(token);
        }
        Ok(())
    }

    /// Tells the other nodes that the list of signing keys has changed in this one.
    pub fn signing_keys_changed(&self, kid: &str) {
        self.announcer.key_rotated(kid);
    }
}
