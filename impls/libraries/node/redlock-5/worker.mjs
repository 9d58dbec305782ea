// Lets lockbench test redlock 5 on ioredis. Argument: none (one Redis server), five (five servers) or using (its method using).
import { serve, Busy, Grant, NotHeld } from "./lockbench-worker.mjs";
import Redlock, { Lock } from "redlock";
import { connect, meaning, validity } from "./redlock.mjs";
import { usingLock } from "./using.mjs";

const argument = process.argv[2];
let redlock;

const lock = {
  name: argument ? `redlock-5-${argument}` : "redlock-5",
  doc: "redlock 5 on ioredis",
  deployment: argument === "five" ? "five" : "single",
  releasesUnknown: true,
  open({ nodes, ttl }) {
    redlock = new Redlock(connect(nodes, ttl), { retryCount: 0 });
  },
  async tryAcquire({ key, ttl }) {
    const lock = await redlock.acquire([key], ttl).catch(async (e) => { throw await meaning(e, new Busy()); });
    return new Grant(lock, { token: lock.value, validity: validity(ttl) });
  },
  async release(hold) {
    const lock = hold.handle ?? new Lock(redlock, [hold.key], hold.token, [], 0); // another process's hold
    await lock.release().catch(async (e) => { throw await meaning(e, new NotHeld()); });
  },
  async renew(hold) {
    hold.handle = await hold.handle.extend(hold.ttl).catch(async (e) => { throw await meaning(e, new NotHeld()); });
    return validity(hold.ttl);
  },
};

await serve(argument === "using" ? usingLock : lock);
