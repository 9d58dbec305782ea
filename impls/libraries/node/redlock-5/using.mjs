// Uses the method using of redlock 5, which waits for a lock, renews it while a function runs, and releases it.
import { Busy, Grant, NotHeld } from "./lockbench-worker.mjs";
import { AsyncLocalStorage } from "node:async_hooks";
import Redlock from "redlock";
import { connect, meaning, validity } from "./redlock.mjs";

const running = new AsyncLocalStorage(); // grant of the current call of using
let redlock;

/** Reports the token and the automatic renewals of each grant. */
class Reporting extends Redlock {
  async acquire(...args) {
    const lock = await super.acquire(...args);
    running.getStore().token = lock.value;
    return lock;
  }

  async extend(lock, ttl, settings) {
    const sent = performance.now(), report = (error) => running.getStore().renewed(validity(ttl), sent, error);
    return super.extend(lock, ttl, settings).then((extended) => (report(), extended),
      async (error) => { report(await meaning(error, new NotHeld())); throw error; });
  }
}

export const usingLock = {
  name: "redlock-5-using",
  doc: "redlock 5 on ioredis, its method using", backoff_ms: 300, shortest_lease_ms: 1000,
  capabilities: ["watchdog", "lost"],
  expect: [{ property: "renewal", verdict: "unspecified", because: "documented to renew when 500 ms of the lease are left" }],
  open({ nodes, ttl }) {
    redlock = new Reporting(connect(nodes, ttl));
  },
  acquire({ key, ttl, wait }) { // returns when using runs the given function, which ends at the release
    const grant = new Grant(undefined, { validity: validity(ttl) });
    return new Promise((resolve, reject) => {
      const work = (signal) => {
        signal.addEventListener("abort", () => grant.lost());
        return new Promise((done) => resolve(Object.assign(grant, { handle: done })));
      };
      const retryCount = wait < 0 ? -1 : Math.ceil(wait / 200); // one retry about every 200 ms
      grant.done = running.run(grant, () => redlock.using([key], ttl, { retryCount }, work));
      grant.done.catch(async (error) => reject(await meaning(error, new Busy())));
    });
  },
  async release(grant) {
    if (grant.released) throw new NotHeld();
    grant.released = true;
    await (grant.handle(), grant.done).catch(async (error) => { throw await meaning(error, new NotHeld()); });
  },
};
