use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::json::Json;
use crate::{locked, millis};

/// The wait of a request without a timeout. It is longer than any trial.
pub const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// A request for a lock.
pub struct Acquire {
    /// Key with the required prefix.
    pub key: String,
    /// Name of the client. Only a re-entrant lock needs it.
    pub owner: String,
    /// Random token. It identifies the grant if the library does not choose a token.
    pub token: String,
    /// Requested lease.
    pub ttl: Duration,
    /// Longest time to wait. Zero means to try once. [`NO_TIMEOUT`] means to wait until the grant.
    pub wait: Duration,
    /// Whether the hold must be renewed until its release.
    pub keep_alive: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    cancelled: bool,
    on_cancel: Vec<Box<dyn FnOnce() + Send>>,
}

impl Acquire {
    pub(crate) fn new(prefix: &str, request: &Json) -> Acquire {
        let wait = request.number("wait_ms");
        let random = || RandomState::new().build_hasher().finish();
        Acquire {
            key: prefix.to_string() + &request.text("key"),
            owner: request.text("owner"),
            token: format!("{:016x}{:016x}", random(), random()),
            ttl: millis(request.number("ttl_ms")),
            wait: if wait < 0 { NO_TIMEOUT } else { millis(wait) },
            keep_alive: request.is_true("keep_alive"),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Reports whether the acquire was cancelled.
    pub fn cancelled(&self) -> bool {
        locked(&self.state).cancelled
    }

    /// Calls a function when the acquire is cancelled, or at once if it is already cancelled. The function must not
    /// block.
    pub fn on_cancel(&self, function: impl FnOnce() + Send + 'static) {
        let mut state = locked(&self.state);
        if state.cancelled {
            drop(state);
            function();
        } else {
            state.on_cancel.push(Box::new(function));
        }
    }

    pub(crate) fn cancel(&self) {
        let mut state = locked(&self.state);
        state.cancelled = true;
        let functions = std::mem::take(&mut state.on_cancel);
        drop(state);
        self.changed.notify_all();
        functions.into_iter().for_each(|function| function());
    }

    /// Waits for the given time. Returns false if the acquire was cancelled.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(locked(&self.state), time, |state| !state.cancelled);
        !waited.unwrap_or_else(std::sync::PoisonError::into_inner).0.cancelled
    }
}
