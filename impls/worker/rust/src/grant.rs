use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::{locked, Error};

/// The promised duration of a hold, counted from sending the acquire.
#[derive(Clone, Copy)]
pub enum Validity {
    /// The requested lease.
    Lease,
    For(Duration),
    NoEnd,
    Unknown,
}

/// A granted lock with the library's lock object.
pub struct Grant<H> {
    pub(crate) handle: H,
    pub(crate) token: Option<String>,
    pub(crate) fence: i64,
    pub(crate) depth: usize,
    pub(crate) validity: Validity,
    pub(crate) notices: Notices,
}

impl<H> Grant<H> {
    /// Returns a grant with the token and the lease of the request. The handle is later passed to release and renew.
    pub fn new(handle: H) -> Grant<H> {
        Grant { handle, token: None, fence: 0, depth: 0, validity: Validity::Lease, notices: Notices::default() }
    }

    /// Sets the token that identifies the grant in the store. Needed only if the library chooses the token.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sets the fencing token.
    pub fn fence(mut self, fence: i64) -> Self {
        self.fence = fence;
        self
    }

    /// Sets the nesting depth. By default, the holds of the same owner are counted if the lock is re-entrant.
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// Sets the promised duration.
    pub fn validity(mut self, validity: Validity) -> Self {
        self.validity = validity;
        self
    }

    /// Returns an object that reports the loss and the renewals of this hold. Any thread may use it, even before the
    /// grant is returned.
    pub fn notices(&self) -> Notices {
        self.notices.clone()
    }
}

/// Reports the loss and the automatic renewals of a hold.
#[derive(Clone, Default)]
pub struct Notices(Arc<Mutex<State>>);

/// The time of a notice, and the new validity in a notice of a renewal.
pub(crate) struct Notice {
    pub time: Instant,
    pub renewed: Option<Duration>,
}

type Report = Box<dyn Fn(&Notice) + Send>;

#[derive(Default)]
struct State {
    early: Vec<Notice>,     // notices to write after the reply to the acquire
    report: Option<Report>, // set when the reply is written
    over: bool,             // whether later losses are ignored
}

impl Notices {
    /// Reports that the hold is lost. Later calls have no effect, nor do calls after the release.
    pub fn lost(&self) {
        let mut state = locked(&self.0);
        if !state.over {
            state.over = true;
            state.add(Notice { time: Instant::now(), renewed: None });
        }
    }

    /// Reports that the library renewed the hold by itself. The validity counts from this call. If the renewal was sent
    /// earlier, subtract the time since then.
    pub fn renewed(&self, validity: Duration) {
        locked(&self.0).add(Notice { time: Instant::now(), renewed: Some(validity) });
    }

    /// Passes the stored notices and all later ones to a function. Must be called after the reply to the acquire.
    pub(crate) fn replied(&self, report: Report) {
        let mut state = locked(&self.0);
        state.early.drain(..).for_each(|notice| report(&notice));
        state.report = Some(report);
    }

    /// Makes later calls of `lost` have no effect.
    fn over(&self) {
        locked(&self.0).over = true;
    }
}

impl State {
    fn add(&mut self, notice: Notice) {
        match &self.report {
            Some(report) => report(&notice),
            None => self.early.push(notice),
        }
    }
}

/// A hold to release or renew.
pub struct Hold<H> {
    /// Key with the required prefix.
    pub key: String,
    /// Name of the client.
    pub owner: String,
    /// Token of the grant.
    pub token: String,
    /// Requested lease.
    pub ttl: Duration,
    pub(crate) grant: Option<Grant<H>>, // absent if this process never had the hold
}

impl<H> Hold<H> {
    /// Returns the library's lock object, or [`Error::NotHeld`] if this process never had the hold.
    pub fn handle(&self) -> Result<&H, Error> {
        self.grant.as_ref().map(|grant| &grant.handle).ok_or(Error::NotHeld)
    }
}

/// The holds of a worker by the id of the acquire. Recently released holds are kept, because a release may be repeated.
pub(crate) struct Holds<H> {
    known: HashMap<i64, Arc<Hold<H>>>,
    current: HashMap<(String, String), Vec<i64>>, // ids of the holds, by owner and key
    released: VecDeque<i64>,
}

const REMEMBERED: usize = 1 << 14;

impl<H> Holds<H> {
    pub fn new() -> Holds<H> {
        Holds { known: HashMap::new(), current: HashMap::new(), released: VecDeque::new() }
    }

    pub fn find(&self, id: i64) -> Option<Arc<Hold<H>>> {
        self.known.get(&id).cloned()
    }

    /// Returns the number of holds that an owner has on a key.
    pub fn depth(&self, owner: &str, key: &str) -> usize {
        self.current.get(&(owner.to_string(), key.to_string())).map_or(0, Vec::len)
    }

    /// Returns the current holds.
    pub fn current(&self) -> Vec<Arc<Hold<H>>> {
        self.current.values().flatten().filter_map(|id| self.find(*id)).collect()
    }

    pub fn add(&mut self, id: i64, hold: Hold<H>) {
        self.current.entry((hold.owner.clone(), hold.key.clone())).or_default().push(id);
        self.known.insert(id, Arc::new(hold));
    }

    /// Removes a hold from the current holds. Must be called before the release.
    pub fn end(&mut self, id: i64) {
        let Some(hold) = self.known.get(&id) else { return };
        let owned = (hold.owner.clone(), hold.key.clone());
        let Some(ids) = self.current.get_mut(&owned) else { return };
        let Some(at) = ids.iter().position(|i| *i == id) else { return }; // the hold was already released
        ids.remove(at);
        if ids.is_empty() {
            self.current.remove(&owned);
        }
        if let Some(grant) = &hold.grant {
            grant.notices.over();
        }
        self.released.push_back(id);
        if self.released.len() > REMEMBERED {
            self.released.pop_front().and_then(|oldest| self.known.remove(&oldest));
        }
    }
}
