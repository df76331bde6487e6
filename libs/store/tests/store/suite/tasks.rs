//! Tasks as people see them.

use domain::task::{Action, SystemJob};
use domain::{Principal, Role, TaskId, UserId};
use futures_util::future::join_all;
use store::Refusal;
use store::accounts::NewUser;
use store::tasks::{
    CalledHook, Hook, HookSignature, NewTask, SigningKey, Task, TaskFilter, TaskRights, TaskSettings,
};

use super::people::{new_agent, new_user, secret};
use super::task_scene::{Chores, edit, from_now, new_task, ticking};
use super::world::{World, refused};

async fn admin(chores: &Chores) -> UserId {
    let admin = NewUser { role: Role::Admin, ..new_user(&testkit::random::handle("admin")) };
    chores.store.create_user(&admin).await.expect("an administrator").id
}

async fn listed(chores: &Chores, reader: UserId, filter: TaskFilter) -> Vec<TaskId> {
    let tasks = chores.store.tasks(reader, filter, None, 100).await.expect("tasks");
    tasks.iter().map(|task| task.id).collect()
}

pub(crate) async fn a_task_is_kept_as_it_was_made(world: World) {
    let chores = Chores::new(world).await;
    let room = chores.group(&[chores.alex]).await;
    let at = from_now(1000);
    let hook = Hook { hash: secret(), signature: HookSignature::Github, key: Some(SigningKey(vec![0, 255])) };
    let action = Action::Message { room_id: room, body: "Good morning 🌱 \"'\\".into() };
    let new = ticking(chores.alex, at);
    let settings =
        TaskSettings { action, name: "名前 %_".into(), timezone: "Europe/Berlin".into(), ..new.settings };
    let new = NewTask { settings, hook: Some(hook), webhook_key: Some(SigningKey(vec![7; 32])), ..new };
    let (made, fresh) = chores.store.create_task(&new).await.expect("made");
    assert!(fresh);
    assert_eq!((made.id, made.owner, &made.settings, made.version), (new.id, chores.alex, &new.settings, 1));
    assert_eq!((made.hook, made.next_run_at), (Some(HookSignature::Github), Some(at)));
    assert_eq!((made.last_run_at, made.run_count, made.created_at), (None, 0, made.updated_at));
    assert_eq!(chores.see(new.id).await, made);
    assert_eq!(format!("{:?}", new.webhook_key), "Some(SigningKey(..))", "a key is shown nowhere");
    let sam = chores.person().await;
    assert_eq!(chores.store.task(sam, new.id).await.expect("an answer"), None);
    chores.promote().await;
    let worker = chores.worker().await;
    assert_eq!(chores.claim(worker, 1).await, []);
}

pub(crate) async fn a_key_makes_one_task(world: World) {
    let chores = Chores::new(world).await;
    let new = NewTask { key: Some("once".into()), ..ticking(chores.alex, from_now(1000)) };
    let calls = (0..20).map(|_| {
        let (chores, new) = (chores.clone(), NewTask { id: TaskId::new(), ..new.clone() });
        tokio::spawn(async move { chores.store.create_task(&new).await.expect("made") })
    });
    let made: Vec<(Task, bool)> =
        join_all(calls).await.into_iter().map(|call| call.expect("no panic")).collect();
    assert_eq!(made.iter().filter(|(_, fresh)| *fresh).count(), 1);
    assert!(made.iter().all(|(task, _)| task.id == made[0].0.id));
    assert_eq!(listed(&chores, chores.alex, TaskFilter::Own).await, [made[0].0.id]);
    // Another's key is another; what the key made otherwise is no task.
    let sam = chores.person().await;
    let (other, fresh) = chores
        .store
        .create_task(&NewTask { id: TaskId::new(), owner: sam, ..new.clone() })
        .await
        .expect("made");
    assert!(fresh && other.id != made[0].0.id);
    let mut agent = new_agent(chores.alex, &testkit::random::handle("w"));
    agent.key = Some("agent".into());
    chores.store.create_agent(&agent).await.expect("an agent");
    let taken = NewTask { id: TaskId::new(), key: Some("agent".into()), ..new };
    assert_eq!(refused(chores.store.create_task(&taken).await), Refusal::NonceReused);
}

pub(crate) async fn a_task_is_for_rooms_of_its_owner(world: World) {
    let chores = Chores::new(world).await;
    let sam = chores.person().await;
    let (room, sams) = (chores.group(&[chores.alex]).await, chores.group(&[sam]).await);
    let agent = chores.agent(chores.alex).await;
    let message = |room_id| Action::Message { room_id, body: "hello".into() };
    let run = |room_id| Action::AgentRun { room_id, agent_id: agent, input: "go".into() };
    let with = |action| {
        let task = new_task(chores.alex);
        NewTask { settings: TaskSettings { action, ..task.settings }, ..task }
    };
    let make = async |action| chores.store.create_task(&with(action)).await;
    assert_eq!(refused(make(message(sams)).await), Refusal::NotFound("room"));
    assert_eq!(refused(make(run(sams)).await), Refusal::NotFound("room"));
    assert_eq!(refused(make(run(room)).await), Refusal::NotFound("agent"));
    let added = [Principal::Agent(agent)];
    chores.store.add_members(chores.alex, room, &added).await.expect("added");
    assert!(make(run(room)).await.expect("made").1);
    let task = make(message(room)).await.expect("made").0;
    // A refused edit changes nothing.
    let mut change = edit(&task);
    change.settings.action = message(sams);
    assert_eq!(refused(chores.store.edit_task(&change).await), Refusal::NotFound("room"));
    assert_eq!(chores.see(task.id).await, task);
    // Who is no longer in the room may still pause it.
    chores.store.add_members(chores.alex, room, &[sam.into()]).await.expect("added");
    chores.store.remove_member(chores.alex, room, chores.alex.into()).await.expect("left");
    let mut change = edit(&task);
    change.settings.name = "Again".into();
    assert_eq!(refused(chores.store.edit_task(&change).await), Refusal::NotFound("room"));
    chores.pause(task.id).await;
    chores.disable(chores.alex).await;
    let action = Action::System { name: SystemJob::Noop };
    assert_eq!(refused(make(action).await), Refusal::Forbidden);
}

pub(crate) async fn an_edit_is_made_from_what_stands(world: World) {
    let chores = Chores::new(world).await;
    let task = chores.see(chores.ticking(1000).await).await;
    let calls = (0..10).map(|number| {
        let mut change = edit(&task);
        change.settings.name = number.to_string();
        let chores = chores.clone();
        tokio::spawn(async move { (number, chores.store.edit_task(&change).await.expect("an answer")) })
    });
    let edited: Vec<_> = join_all(calls).await.into_iter().map(|call| call.expect("no panic")).collect();
    let won: Vec<_> = edited.into_iter().filter(|(_, edited)| *edited).map(|(number, _)| number).collect();
    assert_eq!(won.len(), 1);
    let now = chores.see(task.id).await;
    assert_eq!((now.settings.name, now.version), (won[0].to_string(), 2));
    assert_eq!(now.next_run_at, task.next_run_at);
    assert!(now.updated_at > task.updated_at);
    let mut unknown = edit(&task);
    unknown.id = TaskId::new();
    assert_eq!(refused(chores.store.edit_task(&unknown).await), Refusal::NotFound("task"));
    chores.store.delete_task(task.id).await.expect("deleted");
    assert_eq!(refused(chores.store.edit_task(&edit(&task)).await), Refusal::NotFound("task"));
    assert_eq!(chores.store.task(chores.alex, task.id).await.expect("an answer"), None);
    assert_eq!(listed(&chores, chores.alex, TaskFilter::Own).await, []);
}

pub(crate) async fn who_may_do_what_with_a_task(world: World) {
    let chores = Chores::new(world).await;
    let [owner, member, stranger] = chores.people().await;
    let admin = admin(&chores).await;
    let room = chores.group(&[owner, chores.alex, member]).await;
    let task = new_task(chores.alex);
    let action = Action::Message { room_id: room, body: "hello".into() };
    let task = chores.make(&NewTask { settings: TaskSettings { action, ..task.settings }, ..task }).await;
    let own = chores.task().await;
    let run = chores.ask(task).await;
    for (person, of_task, of_own) in [
        (chores.alex, Some(TaskRights::Owner), Some(TaskRights::Owner)),
        (owner, Some(TaskRights::Moderator), None),
        (member, Some(TaskRights::Reader), None),
        (stranger, None, None),
        (admin, Some(TaskRights::Moderator), Some(TaskRights::Moderator)),
        (UserId::new(), None, None),
    ] {
        let store = &chores.store;
        assert_eq!(store.task_rights(person, task).await.expect("rights"), of_task);
        assert_eq!(store.task_rights(person, own).await.expect("rights"), of_own);
        assert_eq!(store.task(person, task).await.expect("an answer").is_some(), of_task.is_some());
        assert_eq!(store.task_run(person, run).await.expect("an answer").is_some(), of_task.is_some());
        let runs = store.task_runs(person, task, None, 10).await.expect("an answer");
        assert_eq!(runs.map(|runs| runs.len()), of_task.map(|_| 1));
        let in_room = if of_task.is_some() && person != admin { vec![task] } else { vec![] };
        assert_eq!(listed(&chores, person, TaskFilter::Room(room)).await, in_room);
        let own_list = if person == chores.alex { vec![own, task] } else { vec![] };
        assert_eq!(listed(&chores, person, TaskFilter::Own).await, own_list);
        let all = if person == admin { vec![own, task] } else { vec![] };
        assert_eq!(listed(&chores, person, TaskFilter::All).await, all);
    }
    assert_eq!(chores.store.task_rights(chores.alex, TaskId::new()).await.expect("rights"), None);
    chores.store.delete_task(task).await.expect("deleted");
    assert_eq!(chores.store.task_rights(admin, task).await.expect("rights"), None);
    assert_eq!(chores.store.task_run(chores.alex, run).await.expect("an answer"), None);
}

pub(crate) async fn tasks_and_runs_are_listed_by_id(world: World) {
    let chores = Chores::new(world).await;
    let mut tasks = Vec::new();
    for _ in 0..5 {
        tasks.push(chores.task().await);
    }
    tasks.sort_unstable();
    tasks.reverse();
    let page = async |before, limit| {
        let page = chores.store.tasks(chores.alex, TaskFilter::Own, before, limit).await.expect("tasks");
        page.iter().map(|task| task.id).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, tasks[..2]);
    assert_eq!(page(Some(tasks[1]), 2).await, tasks[2..4]);
    assert_eq!(page(Some(tasks[4]), 2).await, []);
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(chores.ask(tasks[0]).await);
    }
    let session = chores.worker().await;
    for _ in 0..2 {
        let run = chores.claim_one(session).await;
        chores.finish(session, &super::task_scene::done(&run)).await;
    }
    runs.sort_unstable();
    runs.reverse();
    let page = async |before, limit| {
        let page = chores.store.task_runs(chores.alex, tasks[0], before, limit).await.expect("runs");
        page.expect("Alex's").iter().map(|run| run.id).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 4).await, runs[..4]);
    assert_eq!(page(Some(runs[3]), 4).await, runs[4..]);
}

pub(crate) async fn a_hook_is_found_until_there_is_another(world: World) {
    let chores = Chores::new(world).await;
    let hook = |signature, key: Option<u8>| Hook {
        hash: secret(),
        signature,
        key: key.map(|byte| SigningKey(vec![byte; 4])),
    };
    let first = hook(HookSignature::None, None);
    let task = chores.make(&NewTask { hook: Some(first.clone()), ..new_task(chores.alex) }).await;
    let found = async |hook: &Hook| chores.store.hook(&hook.hash).await.expect("an answer");
    let is = |called: Option<CalledHook>, hook: &Hook| {
        let called = called.expect("a hook");
        assert_eq!((called.task, called.signature), (task, hook.signature));
        assert_eq!(called.key, hook.key);
    };
    is(found(&first).await, &first);
    assert!(found(&hook(HookSignature::None, None)).await.is_none());
    chores.pause(task).await;
    is(found(&first).await, &first);
    let second = hook(HookSignature::Standard, Some(9));
    assert!(chores.store.set_hook(task, Some(&second)).await.expect("set"));
    assert!(found(&first).await.is_none(), "the old one stops");
    is(found(&second).await, &second);
    assert_eq!(chores.see(task).await.hook, Some(HookSignature::Standard));
    assert!(chores.store.set_hook(task, None).await.expect("set"));
    assert!(found(&second).await.is_none());
    assert_eq!(chores.see(task).await.hook, None);
    assert!(chores.store.set_hook(task, Some(&second)).await.expect("set"));
    chores.store.delete_task(task).await.expect("deleted");
    assert!(found(&second).await.is_none());
    assert!(!chores.store.set_hook(task, Some(&first)).await.expect("an answer"));
}

pub(crate) async fn the_key_of_a_webhook_stays_until_it_is_replaced(world: World) {
    let chores = Chores::new(world).await;
    let key = |byte| Some(SigningKey(vec![byte; 8]));
    let task = chores.make(&NewTask { webhook_key: key(1), ..new_task(chores.alex) }).await;
    let session = chores.worker().await;
    let mut used = Vec::new();
    for given in [None, key(2), None] {
        chores.edit(task, |edit| edit.webhook_key = given).await;
        chores.ask(task).await;
        let run = chores.claim_one(session).await;
        chores.finish(session, &super::task_scene::done(&run)).await;
        used.push(run.webhook_key);
    }
    assert_eq!(used, [key(1), key(2), key(2)]);
    // Alone, too; but not of a task that calls nothing.
    let keyed = chores.store.set_webhook_key(task, &SigningKey(vec![3; 8])).await.expect("an answer");
    assert_eq!(keyed, matches!(chores.see(task).await.settings.action, Action::Webhook { .. }));
}

pub(crate) async fn an_owner_has_so_many_tasks(world: World) {
    let chores = Chores::new(world).await;
    let few = |owner| NewTask { max_per_owner: 3, ..new_task(owner) };
    let calls = (0..8).map(|_| {
        let chores = chores.clone();
        tokio::spawn(async move { chores.store.create_task(&few(chores.alex)).await.is_ok() })
    });
    let made: Vec<bool> = join_all(calls).await.into_iter().map(|call| call.expect("no panic")).collect();
    assert_eq!(made.iter().filter(|made| **made).count(), 3, "also of many at once");
    let refusal = refused(chores.store.create_task(&few(chores.alex)).await);
    assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}");
    let sam = chores.person().await;
    assert!(chores.store.create_task(&few(sam)).await.expect("another's").1);
    let gone = listed(&chores, chores.alex, TaskFilter::Own).await[0];
    chores.store.delete_task(gone).await.expect("deleted");
    assert!(chores.store.create_task(&few(chores.alex)).await.expect("there is room").1);
}
