//! Hooks: addresses whose calls queue runs.
//!
//! The address is a secret of its own, of which the hash alone is kept. A hook may ask for a signature beside it. What a call brings is read in
//! this order: whose hook it is, whether its signature is good, whether it comes too often (who can't sign takes nothing from those who
//! can), and in the write itself whether the task listens, has room, and knows the delivery.

use auth::secret::hash;
use auth::{SignatureError, SigningSecret, signature};
use domain::task::Trigger;
use domain::{Invalid, TaskId, TaskRunId, UserId};
use store::Refusal;
use store::tasks::{CalledHook, HookSignature, NewTaskRun, Queued, Task};

use super::{NO_TASK, NewHook, kept, no_secret};
use crate::Operations;
use crate::error::Error;

/// Longest name of a delivery.
pub const MAX_DELIVERY: usize = 128;

/// What stands in a call that proves who made it, by the names of the headers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Proof<'a> {
    /// `webhook-id`.
    pub id: Option<&'a str>,
    /// `webhook-timestamp`.
    pub timestamp: Option<&'a str>,
    /// `webhook-signature`.
    pub signature: Option<&'a str>,
    /// `x-hub-signature-256`.
    pub github: Option<&'a str>,
}

impl Operations {
    /// Gives a task another hook: the address before is good for nothing from then on. Without `signature` callers must bring what
    /// they had to bring to the one before.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its owner.
    pub async fn replace_hook(
        &self,
        actor: UserId,
        id: TaskId,
        signature: Option<HookSignature>,
    ) -> Result<(Task, NewHook), Error> {
        self.must_own(actor, id).await?;
        let before = self.task(actor, id).await?.hook;
        let signature = signature.or(before).unwrap_or(HookSignature::None);
        let hook = NewHook::generate(signature)?;
        if !self.store.set_hook(id, Some(&hook.kept(signature))).await? {
            return Err(NO_TASK.into());
        }
        tracing::info!(task = %id, by = %actor, "a task was given another hook");
        Ok((self.task(actor, id).await?, hook))
    }

    /// Gives the webhook of a task another secret: calls are signed with it from the next run on.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its owner; `Conflict` when the task calls no webhook.
    pub async fn replace_webhook_secret(
        &self,
        actor: UserId,
        id: TaskId,
    ) -> Result<(Task, SigningSecret), Error> {
        self.must_own(actor, id).await?;
        let secret = SigningSecret::generate().map_err(no_secret)?;
        if !self.store.set_webhook_key(id, &kept(&secret)).await? {
            return Err(Refusal::Conflict("the task calls no webhook").into());
        }
        tracing::info!(task = %id, by = %actor, "the webhook of a task was given another secret");
        Ok((self.task(actor, id).await?, secret))
    }

    /// Takes the hook of a task away. One that has none stays as it is.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its owner.
    pub async fn remove_hook(&self, actor: UserId, id: TaskId) -> Result<(), Error> {
        self.must_own(actor, id).await?;
        if !self.store.set_hook(id, None).await? {
            return Err(NO_TASK.into());
        }
        tracing::info!(task = %id, by = %actor, "the hook of a task was taken away");
        Ok(())
    }

    /// The largest body of a call, in bytes.
    #[must_use]
    pub const fn max_call_bytes(&self) -> usize {
        self.tasks.max_input_bytes
    }

    /// The hook at an address that ends in `secret`.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub async fn hook(&self, secret: &str) -> Result<CalledHook, Error> {
        Ok(self.store.hook(&hash(secret)).await?.ok_or(Refusal::NotFound("hook"))?)
    }

    /// Checks the signature of a call, if the hook asks for one.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub async fn verify_call(&self, hook: &CalledHook, proof: Proof<'_>, body: &[u8]) -> Result<(), Error> {
        // A hook that asks for a signature has a key; were it lost, nothing would be good.
        let key = hook.key.as_ref().map(|key| SigningSecret::kept(&key.0)).ok_or(SignatureError::NoMatch);
        match hook.signature {
            HookSignature::None => Ok(()),
            HookSignature::Standard => {
                let header = proof.signature.ok_or(SignatureError::Missing)?;
                let id = proof.id.ok_or(SignatureError::BadId)?;
                let timestamp = proof.timestamp.and_then(|text| text.parse().ok());
                let timestamp = timestamp.ok_or(SignatureError::NoTimestamp)?;
                let (now, tolerance) = (self.store.time().await?, self.tasks.hook_tolerance);
                Ok(signature::verify(&key?, id, timestamp, body, header, now, tolerance)?)
            }
            HookSignature::Github => {
                let header = proof.github.ok_or(SignatureError::Missing)?;
                Ok(signature::verify_github(&key?, body, header)?)
            }
        }
    }

    /// Queues a run for a call whose signature is good. A delivery that was taken before queues nothing again.
    ///
    /// # Errors
    ///
    /// `Invalid` for the delivery's name; `Conflict` when the task is paused, or as many are queued as may be.
    pub async fn take_call(
        &self,
        task: TaskId,
        delivery: Option<(&'static str, String)>,
        body: Vec<u8>,
    ) -> Result<Queued, Error> {
        let delivery = delivery.map(|(header, id)| checked(header, id)).transpose()?;
        let run = NewTaskRun {
            id: TaskRunId::new(),
            task,
            trigger: Trigger::Webhook,
            delivery,
            input: (!body.is_empty()).then_some(body),
            max_queued: self.tasks.max_queued,
            trace: trace::traceparent(),
        };
        let queued = self.store.queue_task_run(&run).await?;
        if !queued.repeated {
            self.announcer.task_due(task);
        }
        Ok(queued)
    }
}

/// Checks the name of a delivery that came in `header`.
fn checked(header: &'static str, id: String) -> Result<String, Invalid> {
    if (1..=MAX_DELIVERY).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(id);
    }
    Err(Invalid::new(header, &id, format!("1 to {MAX_DELIVERY} visible ASCII characters")))
}
