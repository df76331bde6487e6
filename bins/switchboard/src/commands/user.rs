//! `switchboard user`.

use auth::{AuthError, NewPerson, Passwords, create_user};
use domain::Role;
use node::Settings;
use store::StoreError;
use uuid::Uuid;

use crate::commands::{Failure, say, store};

/// A person to be added.
pub(super) struct NewUser {
    pub(super) handle: String,
    pub(super) display_name: Option<String>,
    pub(super) role: Role,
    pub(super) password: Password,
}

/// Where a password comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Password {
    /// The first line of standard input.
    Given,
    /// Made here, and shown once.
    Made,
}

/// Adds a person, also while registration is closed.
pub(super) async fn add(settings: Settings, user: NewUser) -> Result<(), Failure> {
    let store = store(&settings).await?;
    let password = match user.password {
        Password::Given => {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line)?;
            line.trim_end_matches(['\r', '\n']).to_owned()
        }
        // A version 4 UUID has 122 random bits of the operating system.
        Password::Made => Uuid::new_v4().to_string(),
    };
    let passwords = Passwords::new(&settings.auth).await?;
    let person =
        NewPerson { handle: user.handle, password: password.clone(), display_name: user.display_name };
    let added = create_user(&*store, &passwords, &person, user.role).await.map_err(|error| match error {
        AuthError::Store(StoreError::Refused(refusal)) => Failure::from(refusal.public_message()),
        error => error.into(),
    })?;
    say(format_args!("added {} ({}), id {}", added.handle, added.role.as_str(), added.id))?;
    match user.password {
        Password::Given => Ok(()),
        Password::Made => say(format_args!("the password, shown this once: {password}")),
    }
}
