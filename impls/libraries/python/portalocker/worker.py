"""Lets lockbench test the class RedisLock of portalocker, which holds a lock by a subscription to a channel."""
import signal
from urllib.parse import urlsplit

import lockbench_worker as lockbench
import portalocker
import redis
from portalocker import AlreadyLocked, RedisLock

FOREVER = 1e6


class Portalocker:
    def __init__(self, env):
        node = urlsplit(env.nodes[0])  # from_url would not set the default retries of lost connections
        self.store = redis.Redis(node.hostname, node.port, password=node.password, **RedisLock.DEFAULT_REDIS_KWARGS)
        self.held = {}
        signal.signal(signal.SIGINT, self.interrupted)

    def interrupted(self, *_):
        """Handles SIGINT. Versions before 4.2.0 send it if a lock is lost, but do not state which lock."""
        for lock in list(self.held):
            self.lost(lock)

    def lost(self, lock):
        if grant := self.held.get(lock):
            grant.lost()

    def acquire(self, request):
        told = {"on_lost": self.lost, "interrupt_on_lost": False} if hasattr(portalocker, "LockLostError") else {}
        lock = RedisLock(request.key, self.store, fail_when_locked=request.wait == 0, **told)
        self.held[lock] = grant = lockbench.Grant(lock, token=lock.holder_id, validity=0)  # portalocker promises no duration
        try:
            lock.acquire(timeout=FOREVER if request.wait < 0 else request.wait)
        except BaseException:
            del self.held[lock]
            raise
        return grant

    def release(self, hold):
        if not self.held.pop(hold.handle, None):
            raise lockbench.NotHeld  # report this here, because the library ignores a second release
        lost = getattr(hold.handle, "lost", False)
        hold.handle.release()
        if lost:
            raise lockbench.NotHeld


lockbench.serve(Portalocker, name="portalocker", doc=f"portalocker {portalocker.__version__}, its class RedisLock", busy=AlreadyLocked,
                capabilities=["session", "lost"], backoff_ms=1500)
