// Lets lockbench test npm's redlock on ioredis. Run npm ci in this folder, then
// lockbench run --worker 'node examples/redlock-node/worker.mjs' --deployment five --faults minority-down
const { serve, Busy, Grant, NotHeld } = await import("./lockbench-worker.mjs") // if the file was copied here
  .catch(() => import("../../impls/worker/node/lockbench-worker.mjs"));
const { Redis } = await import("ioredis");
const { default: Redlock, Lock, ResourceLockedError } = await import("redlock");

let redlock;
const validity = (ttl) => ttl - Math.round(redlock.settings.driftFactor * ttl) - 2; // the same formula as in redlock

/** Returns refusal if every vote against was an explicit refusal. Otherwise the operation may have taken effect. */
async function meaning(error, refusal) {
  const votes = await Promise.all(error.attempts ?? []);
  const refused = votes.length > 0 && votes.every((v) => [...v.votesAgainst.values()].every((e) => e instanceof ResourceLockedError));
  return refused ? refusal : error;
}

await serve({
  name: "redlock-node",
  doc: "npm's redlock 5 on ioredis",
  releasesUnknown: true,
  open(env) {
    // A command that is sent again would be refused because of its own effect.
    const options = { maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false, commandTimeout: 5000 };
    redlock = new Redlock(env.nodes.map((url) => new Redis(url, options)), { retryCount: 0 });
    redlock.on("error", () => {}); // ignore the event, because each error is also thrown
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
});
