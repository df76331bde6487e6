//! Devices of the person signed in.

use domain::{Device, DeviceId};
use reqwest::Method;

use super::call::Call;
use super::{Api, ApiError, NewDevice, Page};

impl Api {
    /// Adds a device.
    ///
    /// # Errors
    ///
    /// The name is not allowed.
    pub async fn add_device(&self, device: &NewDevice) -> Result<Device, ApiError> {
        self.ask(&Call::new(Method::POST, &["v1", "devices"]).body(device)).await
    }

    /// The devices.
    ///
    /// # Errors
    ///
    /// Not signed in, or no answer.
    pub async fn devices(&self, cursor: Option<&str>) -> Result<Page<Device>, ApiError> {
        self.ask(&Call::new(Method::GET, &["v1", "devices"]).query("cursor", cursor)).await
    }

    /// Removes a device; its connection ends.
    ///
    /// # Errors
    ///
    /// There is no such device.
    pub async fn remove_device(&self, device: DeviceId) -> Result<(), ApiError> {
        let device = device.to_string();
        self.call(&Call::new(Method::DELETE, &["v1", "devices", &device])).await.map(|_| ())
    }
}
