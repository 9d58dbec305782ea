// Lets lockbench test redlock-universal on ioredis: acquire, extend and release or, with the argument using, its method using.
import { serve, Busy, Grant, NotHeld } from "./lockbench-worker.mjs";
import { Redis } from "ioredis";
import { createLock } from "redlock-universal";
import { Reporting, acquire, release } from "./using.mjs";

const using = process.argv.includes("using");
const locks = new Map(); // by key and lease
let adapter;

function lockOf(key, ttl) { // of a lock that tries once, because the worker repeats tries
  const name = `${ttl} ${key}`;
  if (!locks.has(name)) locks.set(name, createLock({ adapter, key, ttl, retryAttempts: 0 }));
  return locks.get(name);
}

const lock = {
  name: using ? "redlock-universal-using" : "redlock-universal",
  doc: "redlock-universal on ioredis",
  releasesUnknown: !using,
  open({ nodes, ttl }) {
    // Do not resend commands: the second SET NX would be refused, because the first one has already set the key.
    const options = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: ttl / 2 };
    adapter = new Reporting(new Redis(nodes[0], options).on("error", () => {})); // each failed command also reports its error
  },
  async tryAcquire({ key, ttl }) {
    try {
      if (using) return await acquire(lockOf(key, ttl));
      const handle = await lockOf(key, ttl).acquire();
      return new Grant(handle, { token: handle.value });
    } catch (error) {
      throw error.cause?.message.endsWith("is already held") ? new Busy() : error;
    }
  },
  async release(hold) {
    if (using) return release(hold);
    const handle = hold.handle ?? { id: "-", key: hold.key, value: hold.token }; // or another process's hold
    if (!(await lockOf(hold.key, hold.ttl).release(handle))) throw new NotHeld();
  },
};

if (using) {
  Object.assign(lock, { capabilities: ["watchdog", "lost"], shortest_lease_ms: 2000 }); // it renews leases of up to 1250 ms without a pause
  const late = { property: "renewal", verdict: "unspecified", because: "documented to renew when 20 % of the lease is left" };
  lock.expect = [late, { ...late, workload: "long-hold" }];
} else {
  lock.renew = async ({ handle, key, ttl }) => { if (!(await lockOf(key, ttl).extend(handle, ttl))) throw new NotHeld(); };
}

await serve(lock);
