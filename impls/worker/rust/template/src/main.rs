//! A worker that lets lockbench test a lock on Redis: SET NX PX, and scripts that compare the token.
//! Replace the functions with calls of your lock library. They are called concurrently.
use std::time::Duration;

use lockbench_worker::{Error, Grant, Stored, Worker};
use redis::{Client, Script};

const RELEASE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
const RENEW: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";

fn main() {
    // The first function opens your lock. Its result is passed to the other functions.
    Worker::new("my-lock", |env| Ok(Client::open(env.node())?))
        .doc("SET NX PX, and scripts that compare the token")
        // Acquires once, without waiting. Return Busy only if another client holds the lock and the store was not
        // changed. After any other error lockbench assumes that the lock may have been granted.
        .try_acquire(|redis, request| {
            let ttl = request.ttl.as_millis() as u64;
            let mut set = redis::cmd("SET");
            set.arg(&request.key).arg(&request.token).arg("NX").arg("PX").arg(ttl);
            let granted: Option<String> = set.query(&mut redis.get_connection()?)?;
            granted.map(|_| Grant::new(())).ok_or(Error::Busy) // instead of (): your library's lock object
        })
        // Releases the lock. Return NotHeld only if the store no longer had the hold and was not changed. If your
        // library has a lock object, use hold.handle()?. It returns NotHeld if this process never had the hold.
        .release(|redis, hold| {
            let script = Script::new(RELEASE);
            let released: i64 = script.key(&hold.key).arg(&hold.token).invoke(&mut redis.get_connection()?)?;
            (released == 1).then_some(()).ok_or(Error::NotHeld)
        })
        // Optional: renews a hold, and returns its new validity.
        .renew(|redis, hold| {
            let (script, ttl) = (Script::new(RENEW), hold.ttl.as_millis() as u64);
            let renewed: i64 = script.key(&hold.key).arg(&hold.token).arg(ttl).invoke(&mut redis.get_connection()?)?;
            (renewed == 1).then_some(hold.ttl).ok_or(Error::NotHeld)
        })
        // Optional: queries the store for the token and the remaining time. With it, lockbench can detect keys that no
        // client holds.
        .probe(|redis, key| {
            let (token, left): (Option<String>, i64) = redis::pipe().get(key).pttl(key).query(&mut redis.get_connection()?)?;
            Ok(token.map(|token| Stored { token, left: u64::try_from(left).ok().map(Duration::from_millis) }))
        })
        .run()
}
