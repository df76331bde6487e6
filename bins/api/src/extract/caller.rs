//! Who calls.

use auth::{Access, AuthError};
use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use domain::{AuthSessionId, UserId};
use domain::{Role, User};

use crate::problem::Problem;
use crate::state::Api;

/// Somebody who is signed in, by `Authorization: Bearer`.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// What their token says.
    pub access: Access,
}

impl Caller {
    /// Who.
    #[must_use]
    pub const fn user(&self) -> UserId {
        self.access.user
    }

    /// The sign-in they came by.
    #[must_use]
    pub const fn session(&self) -> AuthSessionId {
        self.access.session
    }
}

impl FromRequestParts<Api> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let token = bearer(&parts.headers).ok_or(AuthError::Unauthenticated("no bearer token"))?;
        let access = api.identity().authenticate(token).await?;
        tracing::Span::current().record("user", tracing::field::display(access.user));
        Ok(Self { access })
    }
}

/// Somebody who may be signed in: none without `Authorization`, but what is there must be good.
impl OptionalFromRequestParts<Api> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Option<Self>, Problem> {
        if parts.headers.contains_key(AUTHORIZATION) {
            <Self as FromRequestParts<Api>>::from_request_parts(parts, api).await.map(Some)
        } else {
            Ok(None)
        }
    }
}

/// An administrator.
#[derive(Debug, Clone)]
pub struct Admin {
    /// Who.
    pub user: User,
}

impl FromRequestParts<Api> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let caller = <Caller as FromRequestParts<Api>>::from_request_parts(parts, api).await?;
        // Asked each time: the role may have been taken away since the token was made.
        match api.store().user(caller.user()).await? {
            Some(user) if user.role == Role::Admin => Ok(Self { user }),
            Some(_) => Err(store::StoreError::from(store::Refusal::Forbidden).into()),
            None => Err(AuthError::SessionRevoked.into()),
        }
    }
}

/// The token of `Authorization: Bearer`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer")).then(|| token.trim())
}
