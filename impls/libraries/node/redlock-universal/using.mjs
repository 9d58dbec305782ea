// Calls the method using of redlock-universal, which acquires a lock, runs a function, and releases the lock.
import { Grant, NotHeld } from "./lockbench-worker.mjs";
import { AsyncLocalStorage } from "node:async_hooks";
import { IoredisAdapter } from "redlock-universal";

const running = new AsyncLocalStorage(); // grant of the current call of using

/** An adapter for ioredis that records the token of a grant, its automatic renewals, and whether its release succeeded. */
export class Reporting extends IoredisAdapter {
  setNX(key, token, ttl) {
    Object.assign(running.getStore() ?? {}, { token });
    return super.setNX(key, token, ttl);
  }

  async atomicExtend(key, token, least, ttl) {
    const sent = performance.now(), renewed = (error) => running.getStore().renewed(ttl, sent, error);
    const result = await super.atomicExtend(key, token, least, ttl).catch((error) => { renewed(error); throw error; });
    renewed({ "-1": new NotHeld(), 0: new Error(result.message) }[result.resultCode]); // 0: it was too late to renew
    return result;
  }

  async delIfMatch(key, token) {
    const released = await super.delIfMatch(key, token);
    Object.assign(running.getStore() ?? {}, { released });
    return released;
  }
}

/** Calls using, and returns a grant when using runs the given function. The function ends at the release. */
export function acquire(lock) {
  const grant = new Grant();
  return new Promise((resolve, reject) => {
    const work = (signal) => {
      signal.addEventListener("abort", () => grant.lost());
      return new Promise((done) => resolve(Object.assign(grant, { handle: done })));
    };
    grant.done = running.run(grant, () => lock.using(work));
    grant.done.catch(reject);
  });
}

/** Ends the function, and reports what using did not: whether the release succeeded. */
export async function release(grant) {
  await (grant.handle(), grant.done);
  if (grant.released === undefined) throw new Error("the release failed");
  if (!grant.released) throw new NotHeld();
  grant.released = false; // a second release throws NotHeld
}
