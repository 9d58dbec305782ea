// A worker whose behaviour is given by the key of a request.
import { Busy, Grant, NotHeld, serve } from "../../impls/worker/node/lockbench-worker.mjs";
import { performance } from "node:perf_hooks";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

console.log("printed while importing");

class Stuck extends Error {}

class Missing extends Error {}

const held = new Map();

const scripted = {
  name: "scripted",
  capabilities: ["lost", "watchdog", "fencing"],
  busy: [Stuck],
  notHeld: [Missing],
  releasesUnknown: process.argv.includes("unknown"),
  async open(env) {
    console.log("printed while opening");
    if (env.params.open === "fails") throw new Error(`no connection to ${env.nodes[0]}`);
  },
  async tryAcquire({ key }) {
    if (key.endsWith("fails")) throw new Error("timeout of redis://user:secret@host:1/0");
    if (key.endsWith("nothing")) return undefined;
    if (held.has(key)) throw new Stuck();
    if (key.endsWith("slow")) await sleep(200);
    const grant = new Grant(key, { token: key, fence: 7, depth: 1 });
    held.set(key, grant);
    if (key.endsWith("early")) {
      grant.renewed(performance.now(), { validity: 5000 });
      grant.renewed(performance.now(), { error: new NotHeld() });
      grant.lost();
    }
    if (key.endsWith("late")) setTimeout(() => grant.lost(), 300);
    return grant;
  },
  async release(hold) {
    console.log("printed while releasing");
    if (!held.delete(hold.key)) throw new Missing(hold.token);
  },
  renew: (hold) => (hold.owner === "half" ? hold.ttl / 2 : undefined),
  probe: (key) => (held.has(key) ? { token: held.get(key).token, left: -1 } : {}),
};

const waiting = {
  name: "scripted",
  capabilities: ["cancel"],
  open() {},
  async acquire({ wait, signal }) {
    if (wait < 0) {
      if (!signal.aborted) await once(signal, "abort");
      throw new Busy();
    }
    await sleep(wait, undefined, { signal }).catch(() => { throw new Busy(); });
    return "a lock object";
  },
  async release(hold) {
    if (hold.handle !== "a lock object") throw new Error("another object");
  },
};

await serve(process.argv.includes("waiting") ? waiting : scripted);
