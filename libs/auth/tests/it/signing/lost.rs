//! Keys of which some can't be read: how they are left behind, and who may not touch them.

use std::fs;
use std::path::PathBuf;

use super::*;

impl Kept {
    fn file(&self, kid: &str) -> PathBuf {
        self.secrets.signing_key_dir.join(format!("{kid}.pem"))
    }

    fn halve(&self, kid: &str) {
        let whole = fs::read(self.file(kid)).unwrap();
        fs::write(self.file(kid), &whole[..whole.len() / 2]).unwrap();
    }

    /// Makes the private part of a key unreadable, for whoever reads it.
    async fn damage(&self, kid: &str) {
        match self.settings.driver {
            KeyDriver::Dir => self.halve(kid),
            KeyDriver::Postgres => {
                let sql = format!("UPDATE signing_keys SET sealed = sealed || '\\x00' WHERE kid = '{kid}'");
                self.cluster.database.query(&sql).await;
            }
        }
    }

    /// A node that starts now.
    fn node(&self) -> Keys {
        let rules = self.settings.rules(&self.auth());
        Keys::new(self.store(), rules, Duration::from_secs(5), &Registry::new()).unwrap()
    }

    /// The way out of a key that signs and can't be read, as a node that starts meanwhile sees it.
    async fn leave_behind(&self, lost: &str) {
        let (keeper, node) = (self.keeper("api-1"), self.node());
        node.read().await.expect_err("nobody signs");
        let told = node.readiness().expect_err("nobody signs");
        let steps = format!("switchboard keys rotate, then switchboard keys retire {lost} --at-once");
        assert!(told.contains(lost) && told.contains(&steps), "{told}");
        let listed = keeper.list().await.unwrap();
        let shown = listed.iter().find(|view| view.key.kid == lost).and_then(|view| view.fault.clone());
        assert!(shown.as_ref().is_some_and(|fault| fault.contains(&steps)), "{shown:?}");
        let refused = keeper.expel(lost).await.expect_err("nobody else may sign").public_message();
        assert!(refused.contains("rotate first"), "{refused}");

        let made = keeper.rotate(None).await.unwrap();
        node.read().await.unwrap();
        assert_eq!(node.readiness(), Ok(()));
        assert_eq!(node.signer(Timestamp::now()).unwrap().id, made.key.kid, "early, but somebody has to");
        node.find(lost).await.expect_err("its tokens may be good");
        let stored = self.store().load().await.unwrap().expect("keys");
        let (_, advice) = stored.faults(Timestamp::now()).remove(0);
        assert!(advice.contains("--at-once") && !advice.contains("rotate"), "{advice}");
        let signs = keeper.expel(lost).await.unwrap();
        assert_eq!((signs.key.kid, signs.state), (made.key.kid, KeyState::Active));
        node.read().await.unwrap();
        let set = node.current().expect("a set");
        assert!(set.get(lost).is_none() && set.faults().is_empty(), "nobody has it any more");
        assert!(keeper.list().await.unwrap().iter().all(|view| view.fault.is_none()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_file_of_the_only_key_is_left_behind() {
    let kept = Kept::by(KeyDriver::Dir).await;
    kept.keeper("api-1").make_first().await.unwrap();
    let first = kept.until(&[KeyState::Active]).await.remove(0);
    fs::remove_file(kept.file(&first)).unwrap();
    kept.leave_behind(&first).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_key_is_left_behind_by_who_opens_another() {
    for driver in DRIVERS {
        let kept = Kept::by(driver).await;
        let keeper = kept.keeper("api-1");
        keeper.make_first().await.unwrap();
        keeper.rotate(None).await.unwrap();
        let second = kept.until(&[KeyState::Retired, KeyState::Active]).await.remove(1);
        kept.damage(&second).await;
        kept.leave_behind(&second).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_file_of_the_only_key_is_put_back_or_removed_first() {
    let kept = Kept::by(KeyDriver::Dir).await;
    let keeper = kept.keeper("api-1");
    keeper.make_first().await.unwrap();
    let first = kept.until(&[KeyState::Active]).await.remove(0);
    kept.halve(&first);
    let refused = keeper.rotate(None).await.expect_err("others may be able to read it").to_string();
    assert!(refused.contains("put it back from a backup, or remove it, then do: switchboard keys rotate"));
    fs::remove_file(kept.file(&first)).unwrap();
    kept.leave_behind(&first).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_can_not_be_read_is_not_made_the_one_that_signs() {
    for driver in DRIVERS {
        let kept = Kept::by(driver).await;
        let keeper = kept.keeper("api-1");
        keeper.make_first().await.unwrap();
        let first = kept.until(&[KeyState::Active]).await.remove(0);
        let second = keeper.rotate(None).await.unwrap().key.kid;
        kept.damage(&second).await;
        let refused = keeper.expel(&first).await.expect_err("its heir is broken");
        assert_eq!(refused.code(), domain::ErrorCode::Conflict);
        let text = refused.public_message();
        assert!(text.contains(&second) && text.contains("retire that one first, then rotate"), "{text}");
        keeper.retire(&second).await.unwrap();
        let third = keeper.rotate(None).await.unwrap().key.kid;
        assert_eq!(keeper.expel(&first).await.unwrap().key.kid, third);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_key_that_opens_is_not_deleted() {
    for driver in DRIVERS {
        let kept = Kept::by(driver).await;
        let keeper = kept.keeper("api-1");
        keeper.make_first().await.unwrap();
        keeper.rotate(None).await.unwrap();
        let both = kept.until(&[KeyState::Retired, KeyState::Active]).await;
        keeper.sweep().await.unwrap();
        let past = keeper.list().await.unwrap()[0].deleted_from.expect("it is noted");
        kept.damage(&both[1]).await;
        while kept.records.database_time().await.unwrap() <= past {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        for refused in [keeper.sweep().await.map(drop), keeper.expel(&both[0]).await.map(drop)] {
            let text = refused.expect_err("then nobody could rotate any more").to_string();
            assert!(
                text.contains("none can be opened") && text.contains("switchboard keys rotate"),
                "{text}"
            );
        }
        keeper.rotate(None).await.unwrap();
        assert_eq!(keeper.sweep().await.unwrap(), [both[0].clone()]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_seal_key_takes_nothing_out_and_deletes_nothing() {
    let mut kept = Kept::by(KeyDriver::Postgres).await;
    let keeper = kept.keeper("api-1");
    keeper.make_first().await.unwrap();
    keeper.rotate(None).await.unwrap();
    kept.until(&[KeyState::Retired, KeyState::Active]).await;
    keeper.sweep().await.unwrap();
    keeper.rotate(None).await.unwrap();
    let (_, rows) = kept.records.signing_keys().await.unwrap();
    let past = keeper.list().await.unwrap()[0].deleted_from.expect("it is noted");
    while kept.records.database_time().await.unwrap() <= past {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = kept.records.signing_keys().await.unwrap();
    kept.secrets.seal_key = seal_key(8);
    let other = kept.keeper("api-2");
    for row in &rows {
        let kid = &row.key.kid;
        for refused in [other.expel(kid).await, other.retire(kid).await, other.rotate(None).await] {
            let text = refused.expect_err("another seal key").to_string();
            assert!(text.contains("does not open with this node's secrets.seal_key"), "{text}");
        }
    }
    let refused = other.sweep().await.expect_err("another seal key").to_string();
    assert!(refused.contains("secrets.seal_key"), "{refused}");
    assert_eq!(kept.records.signing_keys().await.unwrap(), before);
    let first = rows[0].key.kid.clone();
    assert_eq!(keeper.sweep().await.unwrap(), [first], "with the right one it is deleted");
}
