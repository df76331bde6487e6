//! Which subscriptions are taken.

use domain::Invalid;
use outbound::{Inspector, OutboundError, Refusal, Url};

use crate::settings::PushSettings;
use crate::target::Subscription;

/// Judges subscriptions when they are saved. What is sent later is guarded again: a name may lead elsewhere by then.
#[derive(Debug)]
pub struct Endpoints(Inspector);

impl Endpoints {
    /// With these settings.
    #[must_use]
    pub fn new(settings: &PushSettings) -> Self {
        Self(Inspector::new(&settings.to_services()))
    }

    /// Checks the keys, the form of the endpoint, and where it leads now. Nothing is sent there.
    ///
    /// # Errors
    ///
    /// About `keys` or `endpoint`. Of the endpoint nothing but scheme or host is shown, and no address behind a name.
    pub async fn check(&self, subscription: &Subscription) -> Result<(), Invalid> {
        subscription.recipient()?;
        match self.0.inspect(&subscription.endpoint).await {
            Ok(_) => Ok(()),
            Err(OutboundError::Refused(Refusal::Url(invalid))) => {
                Err(Invalid { field: "endpoint", ..invalid })
            }
            Err(error @ OutboundError::Refused(_)) => {
                Err(refuse(&error, "the URL of a push service on the internet"))
            }
            Err(error) => Err(refuse(&error, "a host that can be looked up now")),
        }
    }
}

/// What of an endpoint may be shown: `https://push.example.com`. None for what is no URL.
#[must_use]
pub fn origin(endpoint: &str) -> Option<String> {
    Url::parse(endpoint).ok().map(|url| url.origin().ascii_serialization())
}

fn refuse(why: &OutboundError, allowed: &str) -> Invalid {
    Invalid::described("endpoint", format!("this one ({why})"), allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_the_origin_is_shown() {
        let shown = origin("https://alex:topsecret@push.example.com/topsecret?topsecret#topsecret");
        assert_eq!(shown.as_deref(), Some("https://push.example.com"));
        assert_eq!(origin("http://127.0.0.1:8080/x").as_deref(), Some("http://127.0.0.1:8080"));
        assert_eq!(origin("topsecret"), None);
    }
}
