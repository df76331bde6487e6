//! Devices and accounts: what has to be announced beside being written.

use domain::{DeviceId, UserId};

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

    /// Disables or enables a person. Disabling ends every sign-in, and with it every connection on
    /// whatever node.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is no such person.
    pub async fn set_user_disabled(&self, user: UserId, disabled: bool) -> Result<(), Error> {
        for ended in self.store.set_user_disabled(user, disabled).await? {
            self.announcer.session_ended(&ended);
        }
        Ok(())
    }
}
