// Lets lockbench test node-redis-warlock on the client redis 3.
import { serve, Busy, Grant, NotHeld } from "./lockbench-worker.mjs";
import { createRequire } from "node:module";
import redis from "redis";
import Warlock from "node-redis-warlock";

const { version } = createRequire(import.meta.url)("node-redis-warlock/package.json");
let client, warlock;

const lock = {
  name: "node-redis-warlock",
  doc: `node-redis-warlock ${version} on redis 3`,
  store: "redis",
  releasesUnknown: true,
  open({ nodes }) {
    client = redis.createClient(nodes[0]);
    client.on("error", () => {}); // ignored, because each failed command also reports its error
    warlock = Warlock(client);
  },
  tryAcquire: ({ key, ttl }) => new Promise((resolve, reject) => {
    warlock.lock(key, ttl, (error, unlock, token) => {
      if (error) reject(error);
      else if (unlock) resolve(new Grant(unlock, { token }));
      else reject(new Busy());
    });
  }),
  release: ({ key, token }) => new Promise((resolve, reject) => {
    warlock.unlock(key, token, (error, deleted) => {
      if (error) reject(error);
      else if (deleted) resolve();
      else reject(new NotHeld());
    });
  }),
};

if (Warlock({ script() {} }).touch) { // the method touch exists since 1.0.2
  lock.renew = async ({ key, token, ttl }) => {
    if (!(await warlock.touch(key, token, ttl))) throw new NotHeld();
  };
}

await serve(lock);
