"""Lets lockbench test the class Lock of redis.asyncio."""
import asyncio
import threading

import lockbench_worker as lockbench
import redis
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import LockError


class RedisPyAsync:
    def __init__(self, env):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        # Do not resend commands: the second SET NX would be refused, because the first one has already set the key.
        self.store = Redis.from_url(env.nodes[0], socket_timeout=2, retry=Retry(NoBackoff(), 0))

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def try_acquire(self, request):
        lock = self.store.lock(request.key, timeout=request.ttl, thread_local=False)
        if not self.run(lock.acquire(blocking=False)):
            raise lockbench.Busy
        return lockbench.Grant(lock, token=lock.local.token)

    def release(self, hold):
        async def release():
            await hold.handle.release()
        self.run(release())

    def renew(self, hold):
        async def extend():
            await hold.handle.extend(hold.ttl, replace_ttl=True)
        self.run(extend())

    def probe(self, key):
        token, left = self.run(self.store.pipeline().get(key).pttl(key).execute())
        return token, left / 1000


lockbench.serve(RedisPyAsync, name="redis-py-async", doc=f"redis-py {redis.__version__}, the class Lock of redis.asyncio",
                capabilities=["rerelease"], not_held=LockError)
