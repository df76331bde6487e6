//! [`Identity`]: how somebody gets in, stays in and leaves, once for every face.
//!
//! A *sign-in* (auth session) is a family: one login or registration, every refresh token rotated from
//! it, every access token and ticket made from it. It lives until it is ended (logout, a refresh token
//! used twice, the person disabled) or its newest refresh token is past its time.
//!
//! ```text
//!  register / login --> sign-in --> access token   (15 min, checked without a query)
//!                          |------> refresh token  (rotates at each use; the same twice ends the sign-in)
//!                          '------> ticket         (30 s, one use, on any node)
//! ```
//!
//! Agents have one token each, and no sign-in beside it ([`crate::agents`]).

mod registration;

use std::sync::Arc;

use domain::{AuthSessionId, DeviceId, DeviceKind, Principal, Role, User, UserId, text};
use jiff::Timestamp;
use prometheus::{IntCounter, Registry};
use store::accounts::NewUser;
use store::agents::TokenStanding;
use store::devices::NewDevice;
use store::sessions::{EndedSession, NewSession, Rotation};
use store::tickets::TicketClaims;
use store::{Refusal, Store, StoreError};
use tokio_util::sync::CancellationToken;

pub use registration::{Registered, Registration};

use crate::agents;
use crate::error::AuthError;
use crate::keys::{Jwks, Keys};
use crate::password::{self, Passwords};
use crate::revocations::{Revocations, Standing};
use crate::secret::{self, Secret};
use crate::settings::{AuthSettings, TicketSettings};
use crate::tokens::Tokens;

/// The longest pause before the store is asked again which sign-ins have ended, when it could not be asked.
const RETRY: std::time::Duration = std::time::Duration::from_secs(1);

/// A device that signs in for the first time.
#[derive(Debug, Clone)]
pub struct Device {
    /// What it is.
    pub kind: DeviceKind,
    /// What its owner calls it.
    pub name: String,
}

/// Who an account is for.
#[derive(Clone)]
pub struct NewPerson {
    /// The unique handle.
    pub handle: String,
    /// The password in clear.
    pub password: String,
    /// The name that people read; the handle when there is none.
    pub display_name: Option<String>,
}

/// A login.
#[derive(Clone)]
pub struct Login {
    /// The handle.
    pub handle: String,
    /// The password in clear.
    pub password: String,
    /// A device to be added with it.
    pub device: Option<Device>,
}

/// Somebody who is in.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// Who.
    pub user: User,
    /// The device that was added, or that the sign-in was opened with.
    pub device: Option<DeviceId>,
    /// The sign-in.
    pub session: AuthSessionId,
    /// Proves who it is, until `expires_in`.
    pub access_token: Secret,
    /// Gets the next access token, once.
    pub refresh_token: Secret,
    /// How long the access token is good.
    pub expires_in: std::time::Duration,
}

/// Who a bearer token signs in, and by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignIn {
    /// Who.
    pub principal: Principal,
    /// What this ends with: the sign-in of a person, of an agent its token.
    pub session: AuthSessionId,
    /// When the token ends by itself; an agent's does not.
    pub expires_at: Option<Timestamp>,
}

/// What came of a refresh token.
#[derive(Debug, Clone)]
pub enum Refreshed {
    /// The next tokens.
    Renewed(Box<SignedIn>),
    /// It was used before, so its sign-in was ended: announce that, then answer
    /// [`AuthError::RefreshReused`].
    Reused(EndedSession),
}

/// A ticket on its way to the client.
#[derive(Debug, Clone)]
pub struct IssuedTicket {
    /// The ticket.
    pub ticket: Secret,
    /// When it ends, by the database's clock.
    pub expires_at: Timestamp,
}

/// Sign-ins, over a store.
pub struct Identity {
    store: Arc<dyn Store>,
    settings: AuthSettings,
    tickets: TicketSettings,
    passwords: Passwords,
    keys: Arc<Keys>,
    tokens: Tokens,
    revocations: Arc<Revocations>,
    tickets_issued: IntCounter,
}

impl Identity {
    /// Wires everything up.
    ///
    /// # Errors
    ///
    /// Settings that can't work.
    pub async fn open(
        store: Arc<dyn Store>,
        auth: &AuthSettings,
        tickets: &TicketSettings,
        keys: Arc<Keys>,
        registry: &Registry,
    ) -> Result<Self, AuthError> {
        auth.check()?;
        Ok(Self {
            store,
            settings: auth.clone(),
            tickets: tickets.clone(),
            passwords: Passwords::new(auth).await?,
            tokens: Tokens::new(Arc::clone(&keys), auth),
            keys,
            revocations: Arc::new(Revocations::new(auth.access_ttl + auth.leeway, auth.revocation_capacity)),
            tickets_issued: crate::limits::counter(
                registry,
                "switchboard_tickets_issued_total",
                "Tickets given out",
            )?,
        })
    }

    /// Makes an account without signing in, also while registration is closed: for administrators.
    ///
    /// # Errors
    ///
    /// `Invalid`; the store's `HandleTaken`; `RateLimited`.
    pub async fn create_user(&self, person: &NewPerson, role: Role) -> Result<User, AuthError> {
        create_user(&*self.store, &self.passwords, person, role).await
    }

    /// Signs in.
    ///
    /// # Errors
    ///
    /// `BadCredentials`, the same for a handle that nobody has; `Locked`, also with the right password;
    /// `Disabled`; `RateLimited`.
    pub async fn login(&self, login: &Login) -> Result<SignedIn, AuthError> {
        self.keys.require()?;
        check_device(login.device.as_ref())?;
        password::plausible(&login.password)?;
        let credentials = match text::handle(&login.handle) {
            Ok(()) => self.store.credentials(&login.handle).await?,
            Err(_) => None,
        };
        let Some(credentials) = credentials else {
            self.passwords.verify_nobody(&login.password).await?;
            return Err(AuthError::BadCredentials);
        };
        if let Some(until) = credentials.locked_until {
            return Err(AuthError::Locked { until });
        }
        let user = credentials.user;
        if !self.passwords.verify(&login.password, &credentials.password_hash).await? {
            self.count_failure(&user).await?;
            return Err(AuthError::BadCredentials);
        }
        if credentials.disabled {
            return Err(AuthError::Disabled);
        }
        self.store.record_login_success(user.id).await?;
        if self.passwords.is_outdated(&credentials.password_hash)
            && let Err(error) = self.rehash(&user, &login.password, &credentials.password_hash).await
        {
            tracing::info!(user = %user.id, %error, "the hash of a password stays as it is until the next login");
        }
        self.open_session(user, login.device.as_ref()).await
    }

    /// Exchanges a refresh token for the next pair of tokens.
    ///
    /// # Errors
    ///
    /// `Unauthenticated` for a token that is unknown, past its time, or of an ended sign-in.
    pub async fn refresh(&self, refresh_token: &str) -> Result<Refreshed, AuthError> {
        // A token that is used up for nothing would end the sign-in when it comes again.
        self.keys.require()?;
        let next = Secret::refresh_token()?;
        let rotation = self
            .store
            .rotate_refresh(&secret::hash(refresh_token), &next.hash(), self.settings.refresh_ttl)
            .await?;
        match rotation {
            Rotation::Rotated { session, user, device } => {
                let user = self.store.user(user).await?;
                let user = user.ok_or(AuthError::Unauthenticated("the person is gone"))?;
                let signed_in = self.signed_in(user, device, session, next)?;
                Ok(Refreshed::Renewed(Box::new(signed_in)))
            }
            Rotation::Reused(ended) => {
                self.revocations.insert(ended.session);
                Ok(Refreshed::Reused(ended))
            }
            Rotation::Refused => Err(AuthError::Unauthenticated("the refresh token is not good")),
        }
    }

    /// Ends a sign-in. The event that comes back, when it is news, is to be announced.
    ///
    /// # Errors
    ///
    /// The store's `NotFound` when this person has no such sign-in.
    pub async fn logout(&self, user: UserId, session: AuthSessionId) -> Result<EndedSession, AuthError> {
        let ended = self.store.end_session(user, session).await?;
        self.revocations.insert(session);
        Ok(ended)
    }

    /// Disables or enables a person. Every sign-in that ended by it comes back, to be announced.
    ///
    /// # Errors
    ///
    /// The store's `NotFound` when there is no such person.
    pub async fn set_disabled(&self, user: UserId, disabled: bool) -> Result<Vec<EndedSession>, AuthError> {
        let ended = self.store.set_user_disabled(user, disabled).await?;
        for session in &ended {
            self.revocations.insert(session.session);
        }
        Ok(ended)
    }

    /// Who holds this bearer token: a person's access token, or an agent's own. For a person the store is asked only when
    /// this node can't know whether the sign-in still lives, for an agent each time.
    ///
    /// # Errors
    ///
    /// `TokenExpired`, `SessionRevoked` (also of an agent that was revoked), `Unauthenticated` (also for a token that was
    /// rotated).
    pub async fn authenticate(&self, bearer: &str) -> Result<SignIn, AuthError> {
        if agents::is_one(bearer) {
            return self.authenticate_agent(bearer).await;
        }
        let access = self.tokens.verify(bearer, Timestamp::now()).await?;
        self.refuse_if_ended(access.session).await?;
        Ok(SignIn {
            principal: access.user.into(),
            session: access.session,
            expires_at: Some(access.expires_at),
        })
    }

    async fn authenticate_agent(&self, token: &str) -> Result<SignIn, AuthError> {
        const UNKNOWN: AuthError = AuthError::Unauthenticated("nobody has this agent token");
        if !agents::is_plausible(token) {
            return Err(UNKNOWN);
        }
        match self.store.agent_by_token(&secret::hash(token)).await? {
            TokenStanding::Good(signed_in) => Ok(SignIn {
                principal: signed_in.agent.id.into(),
                session: signed_in.token,
                expires_at: None,
            }),
            TokenStanding::Ended(_) => Err(AuthError::SessionRevoked),
            TokenStanding::Unknown => Err(UNKNOWN),
        }
    }

    /// Makes a ticket from a person's sign-in, by an access token that ends at `token_expires_at`.
    ///
    /// # Errors
    ///
    /// `SessionRevoked` when the sign-in was ended.
    pub async fn issue_ticket(
        &self,
        user: UserId,
        session: AuthSessionId,
        token_expires_at: Option<Timestamp>,
    ) -> Result<IssuedTicket, AuthError> {
        let ticket = Secret::ticket()?;
        let claims = TicketClaims { user, session, token_expires_at };
        let issued = self.store.issue_ticket(&ticket.hash(), claims, self.tickets.ttl).await;
        match issued {
            Ok(expires_at) => {
                self.tickets_issued.inc();
                Ok(IssuedTicket { ticket, expires_at })
            }
            Err(StoreError::Refused(Refusal::Forbidden)) => {
                self.revocations.insert(session);
                Err(AuthError::SessionRevoked)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Uses a ticket up: of any number of calls on any nodes one is let in.
    ///
    /// # Errors
    ///
    /// `BadTicket` when it is unknown, used, past its time, or its sign-in was ended.
    pub async fn redeem_ticket(&self, ticket: &str) -> Result<SignIn, AuthError> {
        // What can't be a ticket is no reason for a query.
        if ticket.len() != 32 || !ticket.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(AuthError::BadTicket);
        }
        let claims = self.store.consume_ticket(&secret::hash(ticket)).await?.ok_or(AuthError::BadTicket)?;
        let expires_at = claims.token_expires_at.unwrap_or_else(|| Timestamp::now() + self.tokens.ttl());
        Ok(SignIn { principal: claims.user.into(), session: claims.session, expires_at: Some(expires_at) })
    }

    /// The public signing keys.
    ///
    /// # Errors
    ///
    /// `Keys` while none is loaded.
    pub fn jwks(&self) -> Result<Jwks, AuthError> {
        self.keys.require()?;
        Ok(self.keys.current().map_or_else(Jwks::default, |set| set.jwks()))
    }

    /// The signing keys.
    #[must_use]
    pub const fn keys(&self) -> &Arc<Keys> {
        &self.keys
    }

    /// The sign-ins known to have ended: for notifications to be put in, and connections to be compared with.
    #[must_use]
    pub const fn revocations(&self) -> &Arc<Revocations> {
        &self.revocations
    }

    /// Asks the store now which sign-ins have ended, and gives back those that are news to this node.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn refresh_revocations(&self) -> Result<Vec<AuthSessionId>, AuthError> {
        Ok(self.revocations.refresh(&*self.store).await?)
    }

    /// Does that every `auth.revocation_interval`, and when somebody asks for it, until told to stop, and hands what is news to `tell`.
    /// For the role to supervise: it never ends by itself.
    pub async fn follow_revocations(&self, tell: impl Fn(&[AuthSessionId]) + Send, stop: CancellationToken) {
        let mut failing = false;
        loop {
            match self.refresh_revocations().await {
                Ok(ended) => {
                    failing = false;
                    if !ended.is_empty() {
                        tell(&ended);
                    }
                }
                // Once per outage: the next rounds would say the same.
                Err(error) if !failing => {
                    failing = true;
                    tracing::warn!(%error, "could not ask which sign-ins have ended; trying on");
                }
                Err(_) => {}
            }
            let interval = self.settings.revocation_interval;
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(if failing { interval.min(RETRY) } else { interval }) => {}
                () = self.revocations.asked_for() => {}
            }
        }
    }

    async fn open_session(&self, user: User, device: Option<&Device>) -> Result<SignedIn, AuthError> {
        let refresh_token = Secret::refresh_token()?;
        let device = device.map(|d| NewDevice { id: DeviceId::new(), kind: d.kind, name: d.name.clone() });
        let session = NewSession {
            id: AuthSessionId::new(),
            user: user.id,
            device,
            refresh: refresh_token.hash(),
            refresh_ttl: self.settings.refresh_ttl,
        };
        let device = match self.store.open_session(&session).await {
            Ok(device) => device,
            Err(StoreError::Refused(Refusal::Forbidden)) => return Err(self.shut_out(&user).await?),
            Err(error) => return Err(error.into()),
        };
        self.signed_in(user, device.map(|d| d.id), session.id, refresh_token)
    }

    fn signed_in(
        &self,
        user: User,
        device: Option<DeviceId>,
        session: AuthSessionId,
        refresh_token: Secret,
    ) -> Result<SignedIn, AuthError> {
        let access_token = self.tokens.issue(user.id, session, Timestamp::now())?;
        let expires_in = self.tokens.ttl();
        Ok(SignedIn {
            user,
            device,
            session,
            access_token: Secret::of(access_token),
            refresh_token,
            expires_in,
        })
    }

    /// Hashes a password, which is right, with the present parameters.
    async fn rehash(&self, user: &User, password: &str, old: &str) -> Result<(), AuthError> {
        let new = self.passwords.hash(password).await?;
        let replaced = self.store.set_password_hash(user.id, old, &new).await?;
        if replaced {
            tracing::info!(user = %user.id, "the hash of a password has the present parameters now");
        }
        Ok(())
    }

    async fn count_failure(&self, user: &User) -> Result<(), AuthError> {
        let (threshold, lock_for) = (self.settings.lockout_threshold, self.settings.lockout_duration);
        let locked = self.store.record_login_failure(user.id, threshold, lock_for).await?;
        if let Some(until) = locked {
            tracing::warn!(user = %user.id, %until, "an account is locked after too many failed sign-ins");
        }
        Ok(())
    }

    /// Why the store opened no sign-in: the account was locked or disabled while the password was checked.
    /// That stands in the store's own write, so a guess under way when the lock falls does not get in.
    async fn shut_out(&self, user: &User) -> Result<AuthError, AuthError> {
        let now = self.store.credentials(&user.handle).await?;
        Ok(match now.and_then(|now| now.locked_until) {
            Some(until) => AuthError::Locked { until },
            None => AuthError::Disabled,
        })
    }

    async fn refuse_if_ended(&self, session: AuthSessionId) -> Result<(), AuthError> {
        let ended = match self.revocations.standing(session) {
            Standing::Live => false,
            Standing::Ended => true,
            Standing::Unknown => !self.store.not_live(&[session]).await?.is_empty(),
        };
        if ended { Err(AuthError::SessionRevoked) } else { Ok(()) }
    }
}

/// Makes an account without a node's [`Identity`], whose keys a command for administrators has no need of.
///
/// # Errors
///
/// As [`Identity::create_user`].
pub async fn create_user(
    store: &dyn Store,
    passwords: &Passwords,
    person: &NewPerson,
    role: Role,
) -> Result<User, AuthError> {
    Ok(store.create_user(&new_user(passwords, person, role, UserId::new()).await?).await?)
}

async fn new_user(
    passwords: &Passwords,
    person: &NewPerson,
    role: Role,
    id: UserId,
) -> Result<NewUser, AuthError> {
    let display_name = person.display_name.as_deref().unwrap_or(&person.handle);
    text::handle(&person.handle)?;
    text::name("display_name", display_name)?;
    text::password(&person.password)?;
    Ok(NewUser {
        id,
        handle: person.handle.clone(),
        display_name: display_name.to_owned(),
        role,
        password_hash: passwords.hash(&person.password).await?,
    })
}

fn check_device(device: Option<&Device>) -> Result<(), AuthError> {
    device.map_or(Ok(()), |device| Ok(text::name("device.name", &device.name)?))
}
