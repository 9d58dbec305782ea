//! A worker for rslock, which implements RedLock.
use lockbench_worker::{Error, Grant, Validity, Worker};
use rslock::{Lock, LockError, LockManager};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

struct Client {
    manager: &'static LockManager, // never freed, because each lock borrows the manager
    runtime: Runtime,
}

fn main() {
    Worker::<Client, Lock<'static>>::new("rslock", |env| {
        let mut manager = LockManager::new(env.nodes.clone());
        manager.set_retry(1, 1); // one try, because the worker repeats tries
        Ok(Client { manager: Box::leak(Box::new(manager)), runtime: Builder::new_current_thread().enable_time().build()? })
    })
    .try_acquire(|client, request| {
        match client.runtime.block_on(client.manager.lock(request.key.as_bytes(), request.ttl.as_millis() as usize)) {
            Ok(lock) => {
                let validity = Duration::from_millis((lock.validity_time as u64).min(3_600_000)); // at most an hour, because the library's value may overflow
                Ok(Grant::new(lock).validity(Validity::For(validity)))
            }
            Err(LockError::Unavailable) => Err(Error::Busy), // the library returns this also if a server did not answer
            Err(e) => Err(Error::Unknown(format!("{e:?}"))),
        }
    })
    .release(|client, hold| {
        client.runtime.block_on(client.manager.unlock(hold.handle()?));
        Ok(())
    })
    .expect("owner-release", "unspecified", "", "misuse", "a release reports nothing")
    .run()
}
