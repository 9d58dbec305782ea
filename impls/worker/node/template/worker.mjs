// Lets lockbench test a lock. It works as it is, with a plain lock on Redis; replace the five marked parts by your own lock.
//
//     npm install
//     lockbench run --worker 'node worker.mjs' --faults process-pause,holder-kill
import { serve, Busy, Grant, NotHeld } from "./lockbench-worker.mjs"; // a file in the same folder
import { randomUUID } from "node:crypto";

// 1. Import your lock's library, and name it in package.json.
import { Redis } from "ioredis";

const compareAndDelete = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
let store;

await serve({
  // 2. Describe your lock. lockbench-worker.mjs documents all properties. releasesUnknown: release needs no lock object, so
  // lockbench also tries to release locks of other processes.
  name: "my-lock",
  doc: "SET NX PX, and a script that compares and deletes",
  store: "redis",
  releasesUnknown: true,

  async open(env) {
    // 3. Open your lock. env.nodes holds the URLs of the servers, env.ttl the lease in milliseconds, and env.params the
    // settings of lockbench run --param NAME=VALUE. Commands are not resent, because a second SET NX would be refused
    // if the first one had succeeded.
    store = new Redis(env.nodes[0], { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: 5000 });
    store.on("error", () => {}); // ignored, because each failed command also reports its error
  },

  async tryAcquire({ key, ttl }) {
    // 4. Try to acquire the key for ttl milliseconds. Throw Busy only if the store refused: after any other error, such
    // as a timeout, lockbench assumes that the key may be locked. Return your library's lock object, or a Grant with
    // its token, fencing token or validity. If your library waits by itself, define acquire({ key, ttl, wait, signal })
    // instead, and wait for up to wait milliseconds.
    const token = randomUUID();
    if ((await store.set(key, token, "PX", ttl, "NX")) !== "OK") throw new Busy();
    return new Grant(undefined, { token });
  },

  async release(hold) {
    // 5. Release the lock. hold is the Grant that tryAcquire returned; hold.handle is your library's lock object. Throw
    // NotHeld only if the store no longer had the lock for this token.
    if (!(await store.eval(compareAndDelete, 1, hold.key, hold.token))) throw new NotHeld();
  },

  // async renew(hold): extend the lease to hold.ttl from now, or throw NotHeld. Define it only if your library can.
});
