//! A worker for advisory locks of PostgreSQL, through the crate postgres. Each hold has a connection, to which it is bound.
use lockbench_worker::{Error, Grant, Validity, Worker};
use postgres::{error::SqlState, Client, NoTls};
use std::{sync::Mutex, thread};

fn main() {
    Worker::new("postgres-rust", |env| Ok(env.node().to_string()))
        .doc("pg_advisory_lock, with a connection for each hold")
        .store("postgres")
        .declare(&["session", "notifies", "cancel"])
        .acquire(|url, request| {
            let mut client = Client::connect(url, NoTls)?;
            let token = client.cancel_token();
            request.on_cancel(move || drop(thread::spawn(move || token.cancel_query(NoTls))));
            let wait = request.wait.as_millis().clamp(1, i32::MAX as u128); // 0 would be no timeout
            client.batch_execute(&format!("SET lock_timeout = {wait}"))?;
            match client.execute("SELECT pg_advisory_lock(hashtextextended($1, 0))", &[&request.key]) {
                Err(e) if e.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => Err(Error::Busy),
                locked => locked.map(|_| Grant::new(Mutex::new(Some(client))).validity(Validity::NoEnd)).map_err(Error::from),
            }
        })
        .release(|_, hold| {
            let mut client = hold.handle()?.lock().unwrap().take().ok_or(Error::NotHeld)?; // None: released before
            let row = client.query_one("SELECT pg_advisory_unlock(hashtextextended($1, 0))", &[&hold.key])?;
            row.get::<_, bool>(0).then_some(()).ok_or(Error::NotHeld)
        })
        .run()
}
