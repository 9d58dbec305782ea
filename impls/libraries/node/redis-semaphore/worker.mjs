// Lets lockbench test the class Mutex of redis-semaphore on ioredis.
import { serve, Busy, Grant, NotHeld } from "./lockbench-worker.mjs";
import { Redis } from "ioredis";
import { Mutex } from "redis-semaphore";

/** A Mutex that reports its automatic renewals. */
class Reporting extends Mutex {
  async _refresh() {
    const sent = performance.now();
    try {
      const renewed = await super._refresh();
      this.grant?.renewed(this.grant.ttl, sent, renewed ? undefined : new NotHeld());
      return renewed;
    } catch (error) {
      this.grant?.renewed(0, sent, error);
      this.grant?.lost(); // the error becomes an unhandled rejection, which tells the program or ends it
      throw error;
    }
  }
}

const once = { acquireAttemptsLimit: 1, retryInterval: 0 };
let client;

// In some versions, a refresh that does not reach the server causes an unhandled rejection. The worker must not end.
process.on("unhandledRejection", (error) => console.error(error));

await serve({
  name: "redis-semaphore",
  doc: "redis-semaphore's Mutex on ioredis",
  store: "redis",
  capabilities: ["watchdog", "lost"],
  expect: [{ property: "owner-release", verdict: "unspecified", because: "a release reports nothing" }],
  open({ nodes, ttl }) {
    // Do not resend commands: the second SET NX would be refused, because the first one has already set the key.
    client = new Redis(nodes[0], { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: ttl / 2 });
    client.on("error", () => {}); // ignored, because each failed command also reports its error
  },
  async tryAcquire({ key, ttl }) {
    const mutex = new Reporting(client, key, { ...once, lockTimeout: ttl, refreshInterval: ttl / 2, onLockLost: () => mutex.grant.lost() });
    mutex.grant = Object.assign(new Grant(mutex, { token: mutex.identifier }), { ttl });
    if (!(await mutex.tryAcquire())) throw new Busy();
    return mutex.grant;
  },
  async release({ handle }) {
    if (!handle.isAcquired) throw new NotHeld();
    await handle.release();
  },
});
