// A worker for npm's redlock on ioredis: see docs/reference/worker-protocol.md. Run npm ci in this folder, then
// lockbench run --worker 'node examples/redlock-node/worker.mjs' --deployment five --faults minority-down
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import Redlock, { ResourceLockedError } from "redlock";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const env = JSON.parse((await lines.next()).value);
const stores = env.nodes.map((url) => new Redis(url, { maxRetriesPerRequest: 1 }));
const redlock = new Redlock(stores, { retryCount: 0 }); // acquire retries below, and records when the granted attempt was sent
redlock.on("error", (e) => console.error(e.message));

const held = new Map(), cancelled = new Set(); // locks by the id of their acquire
const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const since = (read) => Number(process.hrtime.bigint() - read);
// refused reports whether every vote against was an explicit refusal; any other attempt may have taken effect.
const refused = async (error) => {
  const votes = await Promise.all(error.attempts ?? []);
  return votes.length > 0 && votes.every((v) => [...v.votesAgainst.values()].every((e) => e instanceof ResourceLockedError));
};

async function acquire(q, read) {
  for (const wait = (q.wait_ms ?? 0) * 1e6; ; await sleep(20)) {
    try {
      const sent_after_ns = since(read), lock = await redlock.acquire([env.prefix + q.key], q.ttl_ms);
      held.set(q.id, lock);
      const drift = Math.round(redlock.settings.driftFactor * q.ttl_ms) + 2; // subtracted by redlock itself
      return { ok: true, token: lock.value, sent_after_ns, validity_ns: (q.ttl_ms - drift) * 1e6 };
    } catch (e) {
      if (!(await refused(e))) throw e;
      if (cancelled.has(q.id) || (wait >= 0 && since(read) >= wait)) return { refused: "busy" };
    }
  }
}

async function guarded(method, q, body) {
  const res = await fetch(`${env.resource}${encodeURIComponent(q.key)}?fence=0`, { method, body });
  if (!res.ok) throw new Error(`the resource answered ${res.status}`);
  return method === "GET" ? { value: Number(await res.text()) } : {};
}

const does = {
  acquire, ping: async () => ({}), append: (q) => guarded("POST", q),
  read: (q) => guarded("GET", q), write: (q) => guarded("PUT", q, String(q.value ?? 0)),
  release: (q) => held.get(q.hold)?.release().then(() => ({})) ?? { refused: "not held" }, // never granted
};
async function answer(q, read) {
  const line = await new Promise((ok) => ok(does[q.do](q, read))).catch(async (e) => // refused, or the outcome is unknown
    q.do === "release" && (await refused(e)) ? { refused: "not held" } : { error: e.message });
  say({ id: q.id, ok: !line.refused && !line.error, ...line });
}
say({ lockbench_worker: 1, name: "redlock-node", doc: "npm's redlock 5 on ioredis", backoff_ms: 20 });
for (let next; !(next = await lines.next()).done; ) {
  const q = JSON.parse(next.value), read = process.hrtime.bigint();
  if (q.do === "shutdown") break;
  if (q.do === "cancel") cancelled.add(q.hold); else answer(q, read);
}
process.exit(0);
