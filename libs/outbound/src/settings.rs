//! What can be set about requests to the outside.

use std::net::IpAddr;
use std::str::FromStr as _;
use std::time::Duration;

use domain::Invalid;
use ipnet::IpNet;
use reqwest::Url;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::addresses::Guard;
use crate::url;

/// `[outbound]`: requests to addresses that users name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutboundSettings {
    /// Networks that may be reached although they are not public, such as `10.1.0.0/16`.
    #[serde(deserialize_with = "networks")]
    pub allow_private: Vec<IpNet>,
    /// Whether `http://` is allowed beside `https://`.
    pub allow_http: bool,
    /// How long finding a host and connecting to it may take, TLS included.
    #[serde(with = "domain::duration")]
    pub connect_timeout: Duration,
    /// The most of an answer's body that is read, in bytes.
    pub max_response_bytes: usize,
}

impl Default for OutboundSettings {
    fn default() -> Self {
        Self {
            allow_private: Vec::new(),
            allow_http: false,
            connect_timeout: Duration::from_secs(5),
            max_response_bytes: 64 * 1024,
        }
    }
}

impl OutboundSettings {
    /// Checks what the types alone do not.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(Duration::from_millis(1)..=Duration::from_hours(1)).contains(&self.connect_timeout) {
            let given = domain::duration::display(self.connect_timeout);
            return Err(Invalid::new("outbound.connect_timeout", &given, "1ms to 1h"));
        }
        if self.max_response_bytes > 1024 * 1024 {
            let given = self.max_response_bytes.to_string();
            return Err(Invalid::new("outbound.max_response_bytes", &given, "0 to 1048576"));
        }
        Ok(())
    }

    /// As [`Outbound::check_url`](crate::Outbound::check_url), for those who send nothing.
    ///
    /// # Errors
    ///
    /// About the field `url`, and what is allowed. Of the URL nothing but scheme and host is shown.
    pub fn check_url(&self, url: &str) -> Result<Url, Invalid> {
        url::check(url, &Guard::new(&self.allow_private), self.allow_http)
    }
}

fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let parse = |text: &String| {
        IpNet::from_str(text).or_else(|_| IpAddr::from_str(text).map(IpNet::from)).map_err(|_| {
            let allowed = "networks such as 10.1.0.0/16, fd00::/8 or 10.1.2.3";
            D::Error::custom(Invalid::new("outbound.allow_private", text, allowed))
        })
    };
    Vec::<String>::deserialize(deserializer)?.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_allowed_and_senseless_values_are_named() {
        assert_eq!(OutboundSettings::default().check(), Ok(()));
        type Change = fn(&mut OutboundSettings);
        let broken: [(&str, Change); 3] = [
            ("outbound.connect_timeout", |s| s.connect_timeout = Duration::ZERO),
            ("outbound.connect_timeout", |s| s.connect_timeout = Duration::from_hours(2)),
            ("outbound.max_response_bytes", |s| s.max_response_bytes = usize::MAX),
        ];
        for (key, change) in broken {
            let mut settings = OutboundSettings::default();
            change(&mut settings);
            assert_eq!(settings.check().expect_err(key).field, key);
        }
    }

    #[test]
    fn networks_are_read_as_people_write_them() {
        let read =
            |text| serde_json::from_str::<OutboundSettings>(text).map(|settings| settings.allow_private);
        let networks = read(r#"{"allow_private": ["10.1.0.0/16", "192.0.2.7", "fd00::/8"]}"#).unwrap();
        assert_eq!(
            networks.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["10.1.0.0/16", "192.0.2.7/32", "fd00::/8"]
        );
        let error = read(r#"{"allow_private": ["inside"]}"#).unwrap_err().to_string();
        assert!(error.contains("outbound.allow_private") && error.contains("10.1.0.0/16"), "{error}");
    }
}
