"""Lets lockbench test the class Lock of redis-py."""
import lockbench_worker as lockbench
import redis
from redis.backoff import NoBackoff
from redis.exceptions import LockError
from redis.retry import Retry


class RedisPy:
    def __init__(self, env):
        # Do not resend commands: the second SET NX would be refused, because the first one has already set the key.
        self.store = redis.Redis.from_url(env.nodes[0], socket_timeout=5, retry=Retry(NoBackoff(), 0))

    def try_acquire(self, request):
        lock = self.store.lock(request.key, timeout=request.ttl, thread_local=False)
        if not lock.acquire(blocking=False):
            raise lockbench.Busy
        return lockbench.Grant(lock, token=lock.local.token)

    def release(self, hold):
        if hold.handle:
            hold.handle.release()
        else:  # another process's hold
            self.store.lock(hold.key).do_release(hold.token)

    def renew(self, hold):
        hold.handle.extend(hold.ttl, replace_ttl=True)

    def probe(self, key):
        token, left = self.store.pipeline().get(key).pttl(key).execute()
        return token, left / 1000


lockbench.serve(RedisPy, name="redis-py", doc=f"redis-py {redis.__version__}, its class Lock", capabilities=["rerelease"],
                not_held=LockError, releases_unknown=True)
