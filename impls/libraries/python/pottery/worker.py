"""Lets lockbench test the class Redlock of pottery, on one Redis server or, with the argument five, on five."""
import sys
from importlib.metadata import version

import lockbench_worker as lockbench
from pottery import ExtendUnlockedLock, Redlock, ReleaseUnlockedLock
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

five = "five" in sys.argv


class Pottery:
    def __init__(self, env):
        # Do not resend commands: the second SET NX would be refused, because the first one has already set the key.
        self.masters = {Redis.from_url(node, socket_timeout=2, retry=Retry(NoBackoff(), 0)) for node in env.nodes}

    def try_acquire(self, request):
        lock = Redlock(key=request.key, masters=self.masters, auto_release_time=request.ttl, raise_on_redis_errors=True,
                       num_extensions=1000000)
        if not lock.acquire(blocking=False):
            raise lockbench.Busy
        return lockbench.Grant(lock, token=lock._uuid, validity=self.validity(request.ttl))

    def validity(self, ttl):
        return ttl - ttl * Redlock._CLOCK_DRIFT_FACTOR - 0.002  # the same formula as in pottery

    def release(self, hold):
        hold.handle.release()

    def renew(self, hold):
        hold.handle.extend()
        return self.validity(hold.ttl)


lockbench.serve(Pottery, name="pottery-five" if five else "pottery", doc=f"pottery {version('pottery')}, its class Redlock",
                deployment="five" if five else "single", not_held=(ReleaseUnlockedLock, ExtendUnlockedLock))
