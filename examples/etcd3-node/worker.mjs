// Lets lockbench test the lock of npm's etcd3. Run npm ci in this folder, then
// lockbench run --worker 'node examples/etcd3-node/worker.mjs' --faults holder-kill,process-pause
const { serve, Busy, Grant } = await import("./lockbench-worker.mjs") // if the file was copied here
  .catch(() => import("../../impls/worker/node/lockbench-worker.mjs"));
const { Etcd3, EtcdLeaseInvalidError, EtcdLockFailedError } = await import("etcd3");

let client;

await serve({
  name: "etcd3-node",
  doc: "npm's etcd3, its class Lock, which keeps its lease alive",
  store: "etcd",
  capabilities: ["watchdog", "lost"],
  busy: [EtcdLockFailedError],
  notHeld: [EtcdLeaseInvalidError],
  shortest_lease_ms: 2000,
  lease_step_ms: 1000,
  open(env) {
    client = new Etcd3({ hosts: env.nodes.map((url) => `http://${new URL(url).host}`) });
  },
  async tryAcquire({ key, ttl }) {
    const lock = client.lock(key).ttl(ttl / 1000);
    await lock.acquire();
    const grant = new Grant(lock, { token: await lock.leaseId() });
    lock.lease.on("lost", () => grant.lost());
    return grant;
  },
  async release(hold) {
    await hold.handle.release();
  },
  async probe(key) {
    const { kvs } = await client.get(key).exec();
    return kvs.length ? { token: kvs[0].lease, left: Number((await client.leaseClient.leaseTimeToLive({ ID: kvs[0].lease })).TTL) * 1000 } : {};
  },
});
