//! People, a room and an agent to begin with.
//!
//! What there is to remember lies in the folder: that there is a demo at all is the file with the password, written before anything is made, so a
//! first start that is cut off goes on at the next one. The room has its id from there, too: made again at each start, it is made once, while a
//! key would be forgotten after a day.

use std::sync::Arc;
use std::time::Duration;

use auth::{AuthError, AuthSettings, NewPerson, Passwords, create_user};
use bridge::Demo as DemoWork;
use client::ConsumerSettings;
use client::consumer::serve;
use domain::{Role, RoomId, RoomKind, UserId};
use rand::seq::IndexedRandom as _;
use store::rooms::NewRoom;
use store::{Refusal, Store, StoreError};
use tokio_util::sync::CancellationToken;

use super::Folder;
use crate::demo::{self, HANDLE};

/// Who there is: handle, name, and what they may do.
const PEOPLE: [(&str, &str, Role); 3] =
    [("alex", "Alex", Role::Admin), ("sam", "Sam", Role::User), ("robin", "Robin", Role::User)];
const ROOM: &str = "Lunch";
/// What passwords are made of: nothing that looks like something else.
const ALPHABET: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
/// How long runs may go on when the process stops.
const GRACE: Duration = Duration::from_secs(1);

/// The demo of a folder.
pub(crate) struct Demo {
    /// The password of everybody.
    pub(crate) password: String,
    /// The room that all are in.
    pub(crate) room: RoomId,
    token: String,
}

impl Demo {
    /// Makes sure that a fresh folder is going to have a demo.
    ///
    /// # Errors
    ///
    /// In words: the folder can't be written.
    pub(crate) fn promise(folder: &Folder) -> Result<(), String> {
        let kept = folder.demo_password();
        if kept.read().is_some() {
            return Ok(());
        }
        // The password last: with it the promise is made.
        for (kept, line) in [(folder.demo_room(), RoomId::new().to_string()), (kept, password())] {
            kept.write(&line).map_err(|error| format!("can't write {}: {error}", kept.path().display()))?;
        }
        Ok(())
    }

    /// The demo of a folder that has one: what is missing of it is made.
    ///
    /// # Errors
    ///
    /// In words for whoever started it. The server runs without it then.
    pub(crate) async fn find(
        folder: &Folder,
        store: &dyn Store,
        auth: &AuthSettings,
    ) -> Result<Option<Self>, String> {
        let Some(password) = folder.demo_password().read() else { return Ok(None) };
        let people = people(store, auth, &password).await?;
        let [owner, ..] = people;
        let (agent, token) = demo::agent(store, owner, &folder.demo_token()).await?;
        let others = people[1..].iter().map(|id| (*id).into()).chain([agent.id.into()]).collect();
        let kept = folder.demo_room();
        let id = kept.read().and_then(|id| id.parse().ok());
        let room = NewRoom {
            id: id.ok_or_else(|| format!("{} names no room", kept.path().display()))?,
            kind: RoomKind::Group,
            name: Some(ROOM.to_owned()),
            creator: owner,
            members: others,
            key: None,
        };
        let room = store.create_room(&room).await.map_err(|error| error.to_string())?.room;
        Ok(Some(Self { password, room, token }))
    }

    /// The agent, at work at this gateway until it is told to stop.
    pub(crate) fn serve(&self, gateway: String, stop: CancellationToken) -> impl Future<Output = ()> + use<> {
        let settings = ConsumerSettings::new(vec![gateway], self.token.clone(), HANDLE);
        async move {
            let why = serve(settings, Arc::new(DemoWork::default()), stop.clone(), GRACE).await;
            if !stop.is_cancelled() {
                tracing::warn!(%why, "the demo agent stopped");
            }
        }
    }
}

/// The people, made if they are not there.
async fn people(store: &dyn Store, auth: &AuthSettings, password: &str) -> Result<[UserId; 3], String> {
    let passwords = Passwords::new(auth).await.map_err(|error| error.to_string())?;
    let mut ids = [UserId::new(); 3];
    for (id, (handle, name, role)) in ids.iter_mut().zip(PEOPLE) {
        let known = store.credentials(handle).await.map_err(|error| error.to_string())?;
        *id = match known {
            Some(known) => known.user.id,
            None => {
                let person = NewPerson {
                    handle: handle.to_owned(),
                    password: password.to_owned(),
                    display_name: Some(name.to_owned()),
                };
                create_user(store, &passwords, &person, role).await.map_err(told)?.id
            }
        };
    }
    Ok(ids)
}

fn told(error: AuthError) -> String {
    match error {
        AuthError::Store(StoreError::Refused(Refusal::HandleTaken)) => {
            "a handle of the demo is an agent's".to_owned()
        }
        error => error.to_string(),
    }
}

/// Three groups of four, from the random numbers of the operating system.
fn password() -> String {
    let mut rng = rand::rng();
    let mut group =
        || -> String { (0..4).filter_map(|_| ALPHABET.choose(&mut rng)).map(|byte| *byte as char).collect() };
    [group(), group(), group()].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_demo_is_made_once_though_keys_are_forgotten() {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = Folder::take(&dir.path().join("switchboard.db")).expect("free");
        let store =
            store::sqlite::Sqlite::open(folder.file(), &prometheus::Registry::new()).expect("a store");
        let auth = AuthSettings { argon2_memory_kib: 64, argon2_iterations: 1, ..AuthSettings::default() };
        assert!(Demo::find(&folder, &store, &auth).await.expect("looked").is_none(), "nothing was promised");
        Demo::promise(&folder).expect("promised");
        let first = Demo::find(&folder, &store, &auth).await.expect("made").expect("a demo");
        // Promised again after a start that was cut off, nothing changes.
        Demo::promise(&folder).expect("promised");
        let again = Demo::find(&folder, &store, &auth).await.expect("found").expect("a demo");
        assert_eq!((again.room, &again.password, &again.token), (first.room, &first.password, &first.token));
        let alex = store::Accounts::credentials(&store, "alex").await.expect("read").expect("alex").user.id;
        let rooms = store::Rooms::rooms(&store, alex.into(), None, 10).await.expect("read");
        assert_eq!(rooms.iter().map(|room| room.id).collect::<Vec<_>>(), [first.room]);
        assert_eq!(rooms[0].members.len(), 4, "{rooms:?}");
    }

    #[test]
    fn passwords_are_long_enough_and_never_the_same() {
        let (one, other) = (password(), password());
        assert_eq!(one.len(), 14);
        assert_ne!(one, other);
    }
}
