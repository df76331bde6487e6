//! `switchboard user`.

use auth::{Identity, NewPerson};
use domain::{Role, UserId};
use node::Settings;

use crate::commands::{Failure, store};

/// A person to be added.
pub(super) struct NewUser {
    pub(super) handle: String,
    pub(super) display_name: Option<String>,
    pub(super) admin: bool,
}

pub(super) async fn add(settings: Settings, user: NewUser, password_stdin: bool) -> Result<(), Failure> {
    let store = store(&settings).await?;
    let (password, made) = if password_stdin {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line)?;
        (line.trim_end_matches(['\r', '\n']).to_owned(), false)
    } else {
        // A version 4 UUID has 122 random bits of the operating system.
        (UserId(uuid::Uuid::new_v4()).to_string(), true)
    };
    let registry = prometheus::Registry::new();
    let identity =
        Identity::open(store, &settings.auth, &settings.tickets, &settings.secrets, &registry).await?;
    let person =
        NewPerson { handle: user.handle, password: password.clone(), display_name: user.display_name };
    let role = if user.admin { Role::Admin } else { Role::User };
    let added = identity.create_user(&person, role).await?;
    println!("added {} ({}), id {}", added.handle, role.as_str(), added.id);
    if made {
        println!("the password, shown this once: {password}");
    }
    Ok(())
}
