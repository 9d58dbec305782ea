"""Lets lockbench test the class RedisLock of sherlock, with the argument no-expiry without a lease."""
import importlib.metadata
import math
import sys

import lockbench_worker as lockbench
import redis
import sherlock
from sherlock.lock import LockException


class Sherlock:
    def __init__(self, env):
        self.store = redis.StrictRedis.from_url(env.nodes[0], socket_timeout=5)

    def lease(self, ttl):
        return math.ceil(ttl)  # EXPIRE takes whole seconds

    def try_acquire(self, request):
        lease = self.lease(request.ttl)
        lock = sherlock.RedisLock(request.key, client=self.store, expire=lease)
        if not lock.acquire(blocking=False):
            raise lockbench.Busy
        return lockbench.Grant(lock, token=lock._owner, validity=lease or -1)

    def release(self, hold):
        hold.handle.release()

    def renew(self, hold):
        hold.handle.expire = self.lease(hold.ttl)
        if not hold.handle.renew():
            raise lockbench.NotHeld
        return hold.handle.expire or -1

    def probe(self, key):
        token, left = self.store.pipeline().get(key).pttl(key).execute()
        return token, left / 1000


class NoExpiry(Sherlock):
    def lease(self, ttl):
        return None


forever = "no-expiry" in sys.argv[1:]
lockbench.serve(NoExpiry if forever else Sherlock, name="sherlock-no-expiry" if forever else "sherlock", not_held=LockException,
                doc=f"sherlock {importlib.metadata.version('sherlock')}, its class RedisLock", shortest_lease_ms=1000, lease_step_ms=1000)
