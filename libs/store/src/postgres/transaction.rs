//! Statements and transactions on a session, pipelined.
//!
//! tokio-postgres sends a statement when its future is first polled and answers come in the order of sending, so futures
//! that are polled in order are one round trip. [`Session::transact`] sends BEGIN, statements and COMMIT that
//! way; [`Session::begin`] and [`Transaction::commit`] are its halves, for what depends on rows in between.
//!
//! When a statement of a pipeline fails, the database refuses those behind it and turns COMMIT into
//! ROLLBACK. All answers are awaited, then the first error counts.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, MaybeDone, maybe_done};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::error::StoreError;
use crate::postgres::pool::Session;
use crate::postgres::sqlstate::{Afterwards, Fault, statement_fault};
use crate::postgres::statement::Statement;

/// Parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A statement with its parameters.
pub(super) type Step<'a> = (&'static Statement, Params<'a>);

type Outcome = Result<Vec<Row>, tokio_postgres::Error>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// A statement that is its own transaction, or statements within an open one.
    Bare,
    Begin,
    Commit,
    Whole,
}

impl Frame {
    const fn begins(self) -> bool {
        matches!(self, Self::Begin | Self::Whole)
    }

    const fn commits(self) -> bool {
        matches!(self, Self::Commit | Self::Whole)
    }
}

impl Session {
    /// Runs one statement that is a transaction by itself.
    pub(super) async fn query(
        &self,
        statement: &'static Statement,
        params: Params<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let [rows] = exactly(self.pipeline(Frame::Bare, &[(statement, params)]).await?)?;
        Ok(rows)
    }

    /// BEGIN, the steps, COMMIT: one round trip. For steps that do not depend on each other's rows.
    pub(super) async fn transact<const N: usize>(
        &self,
        steps: [Step<'_>; N],
    ) -> Result<[Vec<Row>; N], Fault> {
        exactly(self.pipeline(Frame::Whole, &steps).await?)
    }

    /// BEGIN and the steps: one round trip. The transaction should be committed or rolled back; one that is dropped
    /// is rolled back behind its caller's back, and may cost the connection.
    pub(super) async fn begin<const N: usize>(
        &self,
        steps: [Step<'_>; N],
    ) -> Result<(Transaction<'_>, [Vec<Row>; N]), Fault> {
        let rows = exactly(self.pipeline(Frame::Begin, &steps).await?)?;
        Ok((Transaction { session: self }, rows))
    }

    async fn pipeline(&self, frame: Frame, steps: &[Step<'_>]) -> Result<Vec<Vec<Row>>, Fault> {
        let client = self.client()?;
        let mut prepared = Vec::with_capacity(steps.len());
        for (statement, _) in steps {
            // All of them first: a preparation between two steps would let the later ones overtake.
            match self.exchange(client.prepare_cached(statement.sql)).await? {
                Ok(ready) => prepared.push(ready),
                Err(error) => return Err(self.judge(statement.name, &error).await),
            }
        }
        let mut sent: Vec<MaybeDone<BoxFuture<'_, Outcome>>> = Vec::with_capacity(steps.len() + 2);
        if frame.begins() {
            sent.push(maybe_done(
                client.batch_execute("BEGIN").map(|done| done.map(|()| Vec::new())).boxed(),
            ));
        }
        for ((statement, params), ready) in steps.iter().zip(&prepared) {
            sent.push(maybe_done(
                async move {
                    let started = Instant::now();
                    let rows = client.query(ready, params).await;
                    self.metrics().statement(statement, started);
                    rows
                }
                .boxed(),
            ));
        }
        if frame.commits() {
            sent.push(maybe_done(
                client.batch_execute("COMMIT").map(|done| done.map(|()| Vec::new())).boxed(),
            ));
        }
        if frame != Frame::Bare {
            // All are sent at once, COMMIT with them: whatever becomes of the others, it ends the transaction.
            self.set_in_transaction(!frame.commits());
        }
        let outcomes = self.exchange(in_order(sent)).await?;
        self.gather(frame, steps, outcomes).await
    }

    /// The rows of the steps, or the first error.
    async fn gather(
        &self,
        frame: Frame,
        steps: &[Step<'_>],
        outcomes: Vec<Outcome>,
    ) -> Result<Vec<Vec<Row>>, Fault> {
        let mut outcomes = outcomes.into_iter();
        if frame.begins()
            && let Some(Err(error)) = outcomes.next()
        {
            // What came behind ran without a transaction, if it ran: nobody knows, and nobody uses this connection again.
            self.spoil();
            return Err(StoreError::Unavailable(format!("BEGIN: {error}")).into());
        }
        let mut rows = Vec::with_capacity(steps.len());
        for (statement, _) in steps {
            match outcomes.next() {
                Some(Ok(found)) => rows.push(found),
                Some(Err(error)) => return Err(self.judge(statement.name, &error).await),
                None => return Err(Fault::internal("a statement without an answer")),
            }
        }
        match outcomes.next() {
            Some(Err(error)) => Err(self.judge("COMMIT", &error).await),
            _ => Ok(rows),
        }
    }

    /// Reads an error; leaves the session fit for use or spoiled.
    async fn judge(&self, statement: &str, error: &tokio_postgres::Error) -> Fault {
        let (fault, afterwards) = statement_fault(statement, error);
        if let Fault::Failed(StoreError::Denied(why)) = &fault {
            // Told here: whoever asked may take it for a database that is away, and go on without.
            tracing::error!(
                why,
                "the database does not let its user do what this node does; see `switchboard doctor --role`"
            );
            self.metrics().denied();
        }
        if afterwards == Afterwards::Close {
            self.spoil();
        } else if self.is_in_transaction() {
            self.rollback().await;
        }
        fault
    }

    async fn rollback(&self) {
        let Ok(client) = self.client() else { return };
        match self.exchange(client.batch_execute("ROLLBACK")).await {
            Ok(Ok(())) => self.set_in_transaction(false),
            Ok(Err(_)) | Err(_) => self.spoil(),
        }
    }
}

/// An open transaction.
#[must_use = "a transaction that is dropped is rolled back"]
pub(super) struct Transaction<'a> {
    session: &'a Session,
}

impl Transaction<'_> {
    /// Runs steps: one round trip. After an error the transaction is rolled back.
    pub(super) async fn run<const N: usize>(&self, steps: [Step<'_>; N]) -> Result<[Vec<Row>; N], Fault> {
        self.check()?;
        exactly(self.session.pipeline(Frame::Bare, &steps).await?)
    }

    /// The steps and COMMIT: one round trip.
    pub(super) async fn commit<const N: usize>(self, steps: [Step<'_>; N]) -> Result<[Vec<Row>; N], Fault> {
        self.check()?;
        exactly(self.session.pipeline(Frame::Commit, &steps).await?)
    }

    /// Goes on with what was decided; when it is a refusal or a fault, undoes everything.
    pub(super) async fn decided<T>(self, decision: Result<T, Fault>) -> Result<(Self, T), Fault> {
        match decision {
            Ok(value) => Ok((self, value)),
            Err(fault) => {
                self.rollback().await;
                Err(fault)
            }
        }
    }

    /// Undoes everything.
    pub(super) async fn rollback(self) {
        if self.session.is_in_transaction() {
            self.session.rollback().await;
        }
    }

    /// After an error there is no transaction any more: steps would commit one by one.
    fn check(&self) -> Result<(), Fault> {
        if self.session.is_in_transaction() {
            Ok(())
        } else {
            Err(Fault::internal("a transaction was used after it had failed"))
        }
    }
}

/// Polls all futures in their order at each wake, so that the first poll sends them in order.
async fn in_order<F: Future + Unpin>(mut futures: Vec<MaybeDone<F>>) -> Vec<F::Output> {
    poll_fn(|context| {
        let mut all_done = true;
        for future in &mut futures {
            all_done &= future.poll_unpin(context).is_ready();
        }
        if all_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    futures.iter_mut().filter_map(|done| std::pin::Pin::new(done).take_output()).collect()
}

fn exactly<const N: usize>(rows: Vec<Vec<Row>>) -> Result<[Vec<Row>; N], Fault> {
    rows.try_into().map_err(|_| Fault::internal("another number of answers than of statements"))
}
