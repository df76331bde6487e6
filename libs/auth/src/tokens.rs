//! Access tokens: short-lived JWTs, signed with Ed25519, that every node checks without a query.

use std::sync::Arc;
use std::time::Duration;

use domain::{AuthSessionId, UserId};
use jiff::Timestamp;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header, Validation};
use serde::{Deserialize, Serialize};

use crate::error::AuthError;
use crate::keys::Keys;
use crate::settings::AuthSettings;

/// Whom our tokens are for.
pub const AUDIENCE: &str = "switchboard";
/// A longer text is no token of ours.
const MAX_TOKEN_BYTES: usize = 2048;

#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: UserId,
    sid: AuthSessionId,
    iat: i64,
    exp: i64,
}

/// What a good access token says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Who.
    pub user: UserId,
    /// The sign-in it was made from.
    pub session: AuthSessionId,
    /// When it was made.
    pub issued_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Makes and checks access tokens.
#[derive(Debug)]
pub struct Tokens {
    keys: Arc<Keys>,
    issuer: String,
    ttl: Duration,
    leeway: Duration,
    validation: Validation,
}

impl Tokens {
    /// With these keys.
    #[must_use]
    pub fn new(keys: Arc<Keys>, settings: &AuthSettings) -> Self {
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_issuer(&[&settings.issuer]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // Time is judged below, by the caller's clock.
        validation.validate_exp = false;
        Self {
            keys,
            issuer: settings.issuer.clone(),
            ttl: settings.access_ttl,
            leeway: settings.leeway,
            validation,
        }
    }

    /// How long a token is good.
    #[must_use]
    pub const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Makes a token.
    ///
    /// # Errors
    ///
    /// `Keys` while no signing key is loaded; `Internal` when signing fails.
    pub fn issue(&self, user: UserId, session: AuthSessionId, now: Timestamp) -> Result<String, AuthError> {
        let iat = now.as_second();
        let ttl = i64::try_from(self.ttl.as_secs()).unwrap_or(i64::MAX);
        let claims = Claims {
            iss: self.issuer.clone(),
            aud: AUDIENCE.into(),
            sub: user,
            sid: session,
            iat,
            exp: iat.saturating_add(ttl),
        };
        let key = self.keys.signer(now)?;
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(key.id.clone());
        jsonwebtoken::encode(&header, &claims, key.signing())
            .map_err(|error| AuthError::Internal(format!("signing: {error}")))
    }

    /// Checks a token.
    ///
    /// # Errors
    ///
    /// `TokenExpired`, or `Unauthenticated` for everything else that is wrong with it; `Keys` when that can't be told, because
    /// its key is not known and the key store can't be read.
    pub async fn verify(&self, token: &str, now: Timestamp) -> Result<Access, AuthError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(AuthError::Unauthenticated("the token is too long"));
        }
        let header = jsonwebtoken::decode_header(token).map_err(|error| refusal(&error))?;
        if header.alg != Algorithm::EdDSA {
            return Err(AuthError::Unauthenticated("the token's algorithm is not EdDSA"));
        }
        let kid = header.kid.ok_or(AuthError::Unauthenticated("the token names no key"))?;
        let key = self.keys.find(&kid).await?;
        let key = key.ok_or(AuthError::Unauthenticated("the token's key is not known"))?;
        let claims = jsonwebtoken::decode::<Claims>(token, key.verifying(), &self.validation)
            .map_err(|error| refusal(&error))?
            .claims;
        self.judge_time(&claims, now)
    }

    fn judge_time(&self, claims: &Claims, now: Timestamp) -> Result<Access, AuthError> {
        let leeway = i64::try_from(self.leeway.as_secs()).unwrap_or(0);
        if claims.exp.saturating_add(leeway) <= now.as_second() {
            return Err(AuthError::TokenExpired);
        }
        if claims.iat.saturating_sub(leeway) > now.as_second() {
            return Err(AuthError::Unauthenticated(
                "the token is from the future; the clocks of the nodes differ",
            ));
        }
        let time = |second| {
            Timestamp::from_second(second)
                .map_err(|_| AuthError::Unauthenticated("the token's times are no times"))
        };
        Ok(Access {
            user: claims.sub,
            session: claims.sid,
            issued_at: time(claims.iat)?,
            expires_at: time(claims.exp)?,
        })
    }
}

/// What is told about a token that is not good: a fixed text, so that nothing of the token gets into a log.
fn refusal(error: &jsonwebtoken::errors::Error) -> AuthError {
    match error.kind() {
        ErrorKind::ExpiredSignature => AuthError::TokenExpired,
        ErrorKind::InvalidSignature => AuthError::Unauthenticated("the token's signature is wrong"),
        ErrorKind::InvalidIssuer => AuthError::Unauthenticated("the token is of another issuer"),
        ErrorKind::InvalidAudience => AuthError::Unauthenticated("the token is for somebody else"),
        ErrorKind::MissingRequiredClaim(_) => AuthError::Unauthenticated("the token lacks a claim"),
        _ => AuthError::Unauthenticated("the token is not readable"),
    }
}

#[cfg(test)]
mod tests;
