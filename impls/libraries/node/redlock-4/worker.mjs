// Lets lockbench test redlock 4 on ioredis, on one Redis server or, with the argument five, on five.
import { serve, Busy, Grant, NotHeld } from "./lockbench-worker.mjs";
import { Redis } from "ioredis";
import Redlock from "redlock";

const five = process.argv.includes("five");
let clients;

/** Calls a method of redlock. If no quorum agreed, throws refusal, or the error of a server, whose vote is then unknown. */
async function call(refusal, method, ...args) {
  const redlock = new Redlock(clients, { retryCount: 0 }); // one for each call, because an event does not name the call
  let unknown;
  redlock.on("clientError", (error) => { unknown = error; });
  try {
    return await redlock[method](...args);
  } catch (error) {
    throw unknown ?? (error.attempts === 0 ? error : refusal); // attempts is 0 if redlock asked no server
  }
}

const validity = (ttl) => ttl - Math.round(0.01 * ttl) - 2; // the same formula as in redlock

await serve({
  name: five ? "redlock-4-five" : "redlock-4",
  doc: "redlock 4 on ioredis",
  deployment: five ? "five" : "single",
  releasesUnknown: true,
  open({ nodes, ttl }) {
    // Do not resend commands: the second acquire would be refused, because the first one has already set the key.
    const options = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: ttl / 2 };
    clients = nodes.map((url) => new Redis(url, options).on("error", () => {})); // each failed command also reports its error
  },
  async tryAcquire({ key, ttl }) {
    const lock = await call(new Busy(), "lock", key, ttl);
    return new Grant(lock, { token: lock.value, validity: validity(ttl) });
  },
  async release({ handle, key, token }) {
    await call(new NotHeld(), "unlock", handle ?? new Redlock.Lock(null, [key], token, 0)); // or another process's hold
  },
  async renew({ handle, ttl }) {
    await call(new NotHeld(), "extend", handle, ttl);
    return validity(ttl);
  },
});
