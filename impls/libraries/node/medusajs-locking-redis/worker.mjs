// Lets lockbench test the method execute of Medusa's Redis locking provider. It runs a function while it holds a lock.
import { serve, Busy, Grant, NotHeld } from "./lockbench-worker.mjs";
import { AsyncLocalStorage } from "node:async_hooks";
import { Redis } from "ioredis";
import redisLock from "@medusajs/locking-redis/dist/services/redis-lock.js";

const running = new AsyncLocalStorage(); // grant of the current call of execute

/** A provider that records whether the release at the end of execute succeeded. */
class Reporting extends redisLock.RedisLockingProvider {
  release = async (...args) => running.getStore().released = await super.release(...args);
}

const renews = "renewUntilStopped" in Reporting.prototype; // true since 2.21.0; earlier versions use the timeout as the lease
let provider;

/** Calls execute, and returns a grant when execute runs the given function. The function ends at the release. */
function execute(key, ttl, wait) {
  const grant = new Grant(), times = { expire: ttl / 1000, timeout: (renews ? Math.min(wait, 1e8) : ttl) / 1000 };
  return new Promise((resolve, reject) => {
    const work = (signal) => {
      signal?.addEventListener("abort", () => grant.lost());
      return new Promise((done) => resolve(Object.assign(grant, { handle: done })));
    };
    grant.done = running.run(grant, () => provider.execute(key, work, times));
    grant.done.catch(reject);
  });
}

await serve({
  name: "medusajs-locking-redis", doc: "@medusajs/locking-redis, its method execute",
  capabilities: renews ? ["watchdog", "lost"] : [], backoff_ms: 1000, shortest_lease_ms: 1000, lease_step_ms: 1000, start_ms: 60000,
  open({ nodes, ttl }) {
    const redisClient = new Redis(nodes[0], { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: ttl / 2 });
    provider = new Reporting({ redisClient: redisClient.on("error", () => {}), prefix: "" }, {});
  },
  async acquire({ key, ttl, wait }) {
    for (const end = wait < 0 ? Infinity : performance.now() + wait; ;) {
      const granted = await execute(key, ttl, end - performance.now()).catch((error) => error);
      if (granted instanceof Grant) return granted;
      if (performance.now() >= end) throw granted.message.startsWith("Timed-out") ? new Busy() : granted;
    }
  },
  async release(grant) {
    await (grant.handle(), grant.done);
    if (!grant.released) throw new NotHeld();
    grant.released = false; // a second release throws NotHeld
  },
});
