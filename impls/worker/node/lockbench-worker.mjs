/**
 * Lets lockbench test a lock written for Node 18 or later. This file needs no package; copy it beside a program such as
 *
 *     import { serve, Busy, Grant, NotHeld } from "./lockbench-worker.mjs"; // before other imports, which may print
 *
 *     serve({
 *       name: "my-lock",
 *       store: "redis",
 *       async open(env) {
 *         this.client = await connect(env.nodes[0]);
 *       },
 *       async tryAcquire({ key, ttl }) {
 *         const lock = await this.client.tryLock(key, ttl);
 *         if (!lock) throw new Busy();
 *         return new Grant(lock, { token: lock.token });
 *       },
 *       async release(hold) {
 *         if (!(await hold.handle.unlock())) throw new NotHeld();
 *       },
 *     });
 *
 * and run lockbench run --worker 'node my-lock.mjs'. All times are in milliseconds. docs/reference/worker-protocol.md
 * describes the lines that serve reads and writes.
 */
import { randomUUID } from "node:crypto";
import { request as httpRequest } from "node:http";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const version = 2;
const keptReleased = 16384; // maximum number of released holds that are kept, because a hold may be released again
const resourceTimeout = 9000; // in milliseconds; shorter than the 10 s for which lockbench waits for a reply
const longestError = 1000;

const output = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // all other output of the program goes to standard error

/** Refuses an acquire: another client holds the lock, and this acquire left nothing behind. */
export class Busy extends Error {}

/** Refuses a release or renewal: the store no longer had the hold for this owner, and nothing was changed. */
export class NotHeld extends Error {}

/** The resource has seen a higher fencing token. */
class Stale extends Error {}

/** A lock that was granted. release and renew receive it again, with key, owner and ttl set. */
export class Grant {
  #report; // writes a notice; set after the reply to the acquire
  #early = []; // notices to write after the reply to the acquire

  /**
   * handle is the library's lock object, or any value. token identifies the grant in the store. fence is the fencing token.
   * validity is the promised duration (default: the requested ttl; -1: no end; 0: unknown). depth is 1 for the outermost grant
   * of a re-entrant lock.
   */
  constructor(handle, { token, fence = 0, validity, depth = 0 } = {}) {
    Object.assign(this, { handle, token: String(token || randomUUID()), fence, validity, depth });
  }

  /** Reports that the hold is lost. It may be called before tryAcquire or acquire returns the grant. */
  lost() {
    this.#notify("lost", performance.now(), {});
  }

  /**
   * Reports a renewal that the library made by itself. validity is the promised duration, counted from sent, which is
   * performance.now() when the renewal was sent. error is absent, a NotHeld if the store refused the renewal, and otherwise the
   * error that left the outcome unknown.
   */
  renewed(validity, sent, error) {
    if (!error) this.#notify("renewed", sent, { ok: true, validity_ns: nanoseconds(validity) });
    else this.#notify("renewed", sent, error instanceof NotHeld ? { refused: "not held" } : { error: describe(error) });
  }

  #notify(...notice) {
    if (this.#report) this.#report(...notice);
    else this.#early.push(notice);
  }

  /** Writes the stored notices and all later ones. Only serve calls it. */
  openNotices(report) {
    this.#report = report;
    for (const notice of this.#early.splice(0)) report(...notice);
  }
}

/**
 * Serves a lock to lockbench on standard input and output. It ends the process when lockbench ends the worker.
 *
 * serve calls these methods of lock; they may be async, and calls overlap:
 *
 *     open(env)            opens the lock of this process. env has nodes (URLs, which may contain passwords), prefix, process,
 *                          seed, ttl, params and ca_file
 *     tryAcquire(request)  requests the lock once, and returns its lock object or a Grant, or throws Busy. Waiters call it
 *                          every backoff_ms. request has key (with the prefix), owner, ttl, wait, keepAlive and signal
 *     acquire(request)     instead of tryAcquire: the library itself waits for up to request.wait (0: try once; -1: no limit),
 *                          until request.signal is aborted
 *     release(hold)        releases a Grant, or throws NotHeld
 *     renew(hold)          extends a Grant to hold.ttl from now, and returns the promised duration or nothing for hold.ttl; optional
 *     probe(key)           returns { token, left }: the token stored for a key (empty: free) and the remaining time
 *                          (negative: no end); optional
 *
 * Throw Busy and NotHeld only if the store refused the request. After any other error lockbench assumes that the
 * request may have taken effect. lock.busy and lock.notHeld are arrays of the library's error classes that mean the
 * same. If lock.releasesUnknown is true, release also receives holds that this process was never granted; their handle
 * is undefined.
 *
 * lock.capabilities contains the capabilities that do not follow from the methods, such as "watchdog". The other
 * properties are fields of the description in docs/reference/worker-protocol.md, such as name, doc, store, deployment,
 * backoff_ms, shortest_lease_ms and start_ms.
 */
export async function serve(lock) {
  const { busy = [], notHeld = [], releasesUnknown, capabilities = [], ...about } = { backoff_ms: 20, ...lock };
  const definite = { acquire: ["busy", Busy, ...busy], release: ["not held", NotHeld, ...notHeld] };
  Object.assign(definite, { renew: definite.release, read: ["stale", Stale], write: ["stale", Stale], append: ["stale", Stale] });
  const implied = { renew: lock.renew, probe: lock.probe, waits: lock.acquire, cancel: lock.tryAcquire };
  about.capabilities = [...new Set([...capabilities, ...Object.keys(implied).filter((c) => implied[c])])];

  const holds = new Map(); // grants by the id of the acquire
  const released = new Set(); // ids of released grants, the oldest first
  const cancels = new Map(); // AbortControllers of the outstanding acquires, by id
  const env = { params: {}, ca_file: "" };
  const write = (line) => output(JSON.stringify(line) + "\n");

  const requests = {
    ping: (r) => (r.time ? { time_ms: Date.now() } : {}),
    async acquire(r, read) {
      const request = { key: env.prefix + r.key, owner: r.owner, ttl: r.ttl_ms, wait: r.wait_ms ?? 0, keepAlive: r.keep_alive ?? false };
      request.signal = cancels.get(r.id).signal;
      const { granted, sent } = lock.acquire ? { granted: await lock.acquire(request) } : await poll(request, read);
      if (granted == null) throw new TypeError("the acquire returned nothing: return the lock object or a Grant, or throw Busy");
      const hold = granted instanceof Grant ? granted : new Grant(granted);
      Object.assign(hold, { key: request.key, owner: request.owner, ttl: request.ttl });
      holds.set(r.id, hold);
      const timing = sent === undefined ? {} : { sent_after_ns: nanoseconds(sent - read) };
      return { token: hold.token, fence: hold.fence, depth: hold.depth, validity_ns: nanoseconds(hold.validity ?? hold.ttl), ...timing };
    },
    async release(r) {
      const hold = holds.get(r.hold);
      if (!hold && !releasesUnknown) throw new NotHeld();
      if (hold) forget(r.hold);
      const unknown = () => Object.assign(new Grant(undefined, r), { key: env.prefix + r.key, owner: r.owner });
      await lock.release(hold ?? unknown());
    },
    async renew(r, read) {
      const hold = holds.get(r.hold), sent = performance.now();
      if (!hold) throw new NotHeld();
      const validity = (await lock.renew(hold)) ?? hold.ttl;
      return { sent_after_ns: nanoseconds(sent - read), validity_ns: nanoseconds(validity) };
    },
    async probe(r) {
      const { token, left } = await lock.probe(env.prefix + r.key);
      return token ? { token: String(token), left_ns: nanoseconds(left) } : {};
    },
    read: async (r) => ({ value: Number(await guarded("GET", r)) }),
    write: async (r) => void (await guarded("PUT", r, String(r.value ?? 0))),
    append: async (r) => void (await guarded("POST", r)),
  };

  /** Calls tryAcquire until it is granted or the request ends. Returns the grant and the time of the granted try. */
  async function poll(request, read) {
    for (;;) {
      const sent = performance.now();
      try {
        return { granted: await lock.tryAcquire(request), sent };
      } catch (error) {
        const left = request.wait < 0 ? about.backoff_ms : Math.min(about.backoff_ms, read + request.wait - performance.now());
        if (left <= 0 || !refuses("acquire", error)) throw error;
        await sleep(left, undefined, { signal: request.signal }).catch(() => { throw error; }); // the acquire was cancelled
      }
    }
  }

  /** Keeps a released hold, because it may be released again. Deletes the oldest released hold if there are too many. */
  function forget(id) {
    released.add(id);
    if (released.size <= keptReleased) return;
    const [oldest] = released;
    released.delete(oldest);
    holds.delete(oldest);
  }

  const refuses = (name, error) => definite[name]?.slice(1).some((type) => error instanceof type);

  async function answer(r, read) {
    let line;
    try {
      if (!Object.hasOwn(requests, r.do)) throw new Error(`unknown request ${r.do}`);
      line = { id: r.id, ok: true, ...(await requests[r.do](r, read)) };
    } catch (error) {
      if (refuses(r.do, error)) {
        line = { id: r.id, refused: definite[r.do][0] };
      } else {
        log(error);
        line = { id: r.id, error: describe(error) };
      }
    }
    cancels.delete(r.id);
    write(line);
    if (r.do !== "acquire" || !line.ok) return;
    holds.get(r.id).openNotices((what, at, outcome) =>
      write({ [what]: r.id, elapsed_ns: nanoseconds(Math.max(0, at - read)), ...outcome }));
  }

  /** Sends a request to the guarded resource, without a proxy. */
  function guarded(method, r, body) {
    return new Promise((resolve, reject) => {
      const url = `${env.resource}${encodeURIComponent(r.key)}?fence=${r.fence ?? 0}`;
      httpRequest(url, { method, agent: false, signal: AbortSignal.timeout(resourceTimeout) }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("error", reject).on("data", (part) => { text += part; }).on("end", () => {
          if (response.statusCode === 200) resolve(text);
          else reject(response.statusCode === 409 ? new Stale() : new Error(`the resource answered ${response.statusCode}`));
        });
      }).on("error", reject).end(body);
    });
  }

  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  try {
    const first = JSON.parse((await lines.next()).value ?? "null");
    if (first?.lockbench_worker !== version) {
      throw new Error(`want a first line of version ${version} of the worker protocol; lockbench run --worker starts a worker`);
    }
    const { lockbench_worker, describe: only, ttl_ms: ttl, ...rest } = first;
    Object.assign(env, rest, { ttl });
    if (!only) await lock.open(env);
  } catch (error) {
    output(JSON.stringify({ lockbench_worker: version, name: about.name, error: describe(error) }) + "\n", () => fail(error));
    return;
  }
  write({ lockbench_worker: version, ...about });
  try {
    for await (const line of lines) {
      const r = JSON.parse(line), read = performance.now();
      if (r.do === "shutdown") break;
      if (r.do === "cancel") {
        cancels.get(r.hold)?.abort();
      } else {
        if (r.do === "acquire") cancels.set(r.id, new AbortController());
        answer(r, read);
      }
    }
    process.exit(0); // ends the process without releasing holds
  } catch (error) {
    fail(error);
  }
}

/** Logs an error and ends the process. */
const fail = (error) => log(error, () => process.exit(1));

const nanoseconds = (ms) => (ms < 0 ? -1 : Math.round(ms * 1e6));

/** Returns the type and message of an error, without credentials. */
const describe = (error) => withoutCredentials(`${error?.name ?? "Error"}: ${error?.message ?? error}`).slice(0, longestError);

const log = (error, done) => process.stderr.write(withoutCredentials(String(error?.stack ?? error)) + "\n", done);

const withoutCredentials = (text) => text.replace(/(\w:\/\/)[^\s/]*@/g, "$1");
