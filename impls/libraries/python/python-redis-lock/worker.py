"""Lets lockbench test python-redis-lock."""
import math
import time

import lockbench_worker as lockbench
import redis
import redis_lock


class Reporting(redis_lock.Lock):
    """A Lock that reports its automatic renewals."""

    def extend(self, expire=None):
        sent, error = time.monotonic(), None
        try:
            super().extend(expire)
        except Exception as raised:
            error = raised
            raise
        finally:
            self.grant.renewed(expire, sent, lockbench.NotHeld() if isinstance(error, redis_lock.NotAcquired) else error)


class PythonRedisLock:
    def __init__(self, env):
        self.store = redis.StrictRedis.from_url(env.nodes[0], socket_timeout=env.ttl + 5)  # BLPOP may block for a lease

    def acquire(self, request):
        lock = Reporting(self.store, request.key, expire=math.ceil(request.ttl), auto_renewal=request.keep_alive)
        lock.grant = lockbench.Grant(lock, token=lock.id, validity=math.ceil(request.ttl))
        deadline = time.monotonic() + request.wait
        granted = lock.acquire(blocking=request.wait < 0)  # blocks forever if the request has no timeout
        while not granted and (left := deadline - time.monotonic()) > 0:
            if left < 1:
                time.sleep(min(left, 0.02))  # the library waits in whole seconds, and rejects a timeout longer than the lease
            granted = lock.acquire(blocking=False) if left < 1 else lock.acquire(timeout=min(int(left), math.ceil(request.ttl)))
        if not granted:
            raise lockbench.Busy
        return lock.grant

    def release(self, hold):
        hold.handle.release()

    def probe(self, key):
        token, left = self.store.pipeline().get("lock:" + key).pttl("lock:" + key).execute()
        return token, left / 1000


lockbench.serve(PythonRedisLock, name="python-redis-lock", doc=f"python-redis-lock {redis_lock.__version__}",
                capabilities=["watchdog", "notifies"], not_held=redis_lock.NotAcquired, shortest_lease_ms=1000, lease_step_ms=1000)
