"""Lets lockbench test the class Lock of redis-py. Run pip install -r examples/redis-py/requirements.txt, then
lockbench run --worker 'python3 examples/redis-py/worker.py' --faults process-pause"""
import sys

import redis
from redis.exceptions import LockError

sys.path.append(f"{sys.path[0]}/../../impls/worker/python")  # unless lockbench_worker.py lies beside this file
import lockbench_worker as lockbench


class RedisPy:
    def __init__(self, env):
        self.store = redis.Redis.from_url(env.nodes[0], socket_timeout=5)

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


lockbench.serve(RedisPy, name="redis-py", doc=f"redis-py {redis.__version__}, its class Lock", not_held=LockError, releases_unknown=True)
