//! Sign-in, tickets and people.

use domain::{User, UserId};
use reqwest::Method;
use serde_json::json;

use super::call::Call;
use super::{Api, ApiError, NewDevice, Page, SignedIn, Ticket, Tokens};

impl Api {
    /// Registers a person, and is signed in as them from then on.
    ///
    /// # Errors
    ///
    /// The handle is taken or not allowed, the password too short, registration closed.
    pub async fn register(
        &self,
        handle: &str,
        password: &str,
        display_name: Option<&str>,
        device: Option<&NewDevice>,
    ) -> Result<SignedIn, ApiError> {
        let mut body = json!({ "handle": handle, "password": password });
        if let Some(name) = display_name {
            body["display_name"] = name.into();
        }
        self.sign_in("register", body, device).await
    }

    /// Signs in.
    ///
    /// # Errors
    ///
    /// Handle or password is wrong, the account locked or disabled, too many tries.
    pub async fn login(
        &self,
        handle: &str,
        password: &str,
        device: Option<&NewDevice>,
    ) -> Result<SignedIn, ApiError> {
        self.sign_in("login", json!({ "handle": handle, "password": password }), device).await
    }

    async fn sign_in(
        &self,
        route: &str,
        mut body: serde_json::Value,
        device: Option<&NewDevice>,
    ) -> Result<SignedIn, ApiError> {
        if let Some(device) = device {
            body["device"] = json!(device);
        }
        let path = ["v1", "auth", route];
        let signed_in: SignedIn =
            self.call_anonymous(&Call::new(Method::POST, &path).body(&body)).await?.read()?;
        self.keep(&signed_in);
        Ok(signed_in)
    }

    /// Buys new tokens with the refresh token. Calls do this by themselves when it is time.
    ///
    /// # Errors
    ///
    /// There is no refresh token, or it was used before, or the sign-in has ended.
    pub async fn refresh(&self) -> Result<SignedIn, ApiError> {
        let _alone = self.credentials.refreshing.lock().await;
        let token = self.credentials.tokens.read().clone().and_then(|tokens| tokens.refresh);
        self.refresh_alone(token).await
    }

    /// Ends the sign-in; the tokens are forgotten even when the server can't be told.
    ///
    /// # Errors
    ///
    /// The server was not told.
    pub async fn logout(&self) -> Result<(), ApiError> {
        let refresh = self.credentials.tokens.read().clone().and_then(|tokens| tokens.refresh);
        let call =
            Call::new(Method::POST, &["v1", "auth", "logout"]).body(&json!({ "refresh_token": refresh }));
        let told = self.call(&call).await;
        *self.credentials.tokens.write() = None;
        told.map(|_| ())
    }

    /// A ticket for one connection to any gateway.
    ///
    /// # Errors
    ///
    /// Not signed in, or no answer.
    pub async fn ticket(&self) -> Result<Ticket, ApiError> {
        self.ask(&Call::new(Method::POST, &["v1", "ws", "ticket"])).await
    }

    /// The person signed in.
    ///
    /// # Errors
    ///
    /// Not signed in, or no answer.
    pub async fn me(&self) -> Result<User, ApiError> {
        self.ask(&Call::new(Method::GET, &["v1", "users", "me"])).await
    }

    /// One person.
    ///
    /// # Errors
    ///
    /// There is no such person.
    pub async fn user(&self, user: UserId) -> Result<User, ApiError> {
        let user = user.to_string();
        self.ask(&Call::new(Method::GET, &["v1", "users", &user])).await
    }

    /// People whose handle or name begins like this.
    ///
    /// # Errors
    ///
    /// Not signed in, or no answer.
    pub async fn users(&self, query: &str, cursor: Option<&str>) -> Result<Page<User>, ApiError> {
        let call =
            Call::new(Method::GET, &["v1", "users"]).query("query", Some(query)).query("cursor", cursor);
        self.ask(&call).await
    }

    pub(super) fn keep(&self, signed_in: &SignedIn) {
        let tokens =
            Tokens { access: signed_in.access_token.clone(), refresh: Some(signed_in.refresh_token.clone()) };
        *self.credentials.tokens.write() = Some(tokens);
    }
}
