//! Who calls.

use auth::{AuthError, SignIn};
use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use domain::{AgentId, AuthSessionId, ErrorCode, Principal, Role, User, UserId};
use jiff::Timestamp;

use crate::problem::Problem;
use crate::state::Api;

/// A person or an agent that is signed in, by `Authorization: Bearer`.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    sign_in: SignIn,
}

impl Caller {
    /// Who.
    #[must_use]
    pub const fn principal(&self) -> Principal {
        self.sign_in.principal
    }
}

impl FromRequestParts<Api> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let token = bearer(&parts.headers).ok_or(AuthError::Unauthenticated("no bearer token"))?;
        let sign_in = api.identity().authenticate(token).await?;
        let field = match sign_in.principal {
            Principal::User(_) => "user",
            Principal::Agent(_) => "agent",
        };
        tracing::Span::current().record(field, tracing::field::display(sign_in.principal.id()));
        Ok(Self { sign_in })
    }
}

/// A person who is signed in. Agents are refused.
#[derive(Debug, Clone, Copy)]
pub struct Person {
    user: UserId,
    session: AuthSessionId,
    expires_at: Option<Timestamp>,
}

impl Person {
    /// Who.
    #[must_use]
    pub const fn user(&self) -> UserId {
        self.user
    }

    /// The sign-in they came by.
    #[must_use]
    pub const fn session(&self) -> AuthSessionId {
        self.session
    }

    /// When the access token they came by ends.
    #[must_use]
    pub const fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }
}

impl FromRequestParts<Api> for Person {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let Caller { sign_in } = Caller::from_request_parts(parts, api).await?;
        match sign_in.principal {
            Principal::User(user) => {
                Ok(Self { user, session: sign_in.session, expires_at: sign_in.expires_at })
            }
            Principal::Agent(_) => {
                Err(Problem::new(ErrorCode::Forbidden, "this is for people; agents can't call it"))
            }
        }
    }
}

/// Somebody who may be signed in: none without `Authorization`, but what is there must be good.
impl OptionalFromRequestParts<Api> for Person {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Option<Self>, Problem> {
        if parts.headers.contains_key(AUTHORIZATION) {
            <Self as FromRequestParts<Api>>::from_request_parts(parts, api).await.map(Some)
        } else {
            Ok(None)
        }
    }
}

/// An agent that is signed in. People are refused.
#[derive(Debug, Clone, Copy)]
pub struct Agent {
    /// Which.
    pub id: AgentId,
}

impl FromRequestParts<Api> for Agent {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        match Caller::from_request_parts(parts, api).await?.principal() {
            Principal::Agent(id) => Ok(Self { id }),
            Principal::User(_) => {
                Err(Problem::new(ErrorCode::Forbidden, "this is for agents; people can't call it"))
            }
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
        let person = <Person as FromRequestParts<Api>>::from_request_parts(parts, api).await?;
        // Asked each time: the role may have been taken away since the token was made.
        match api.store().user(person.user()).await? {
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
