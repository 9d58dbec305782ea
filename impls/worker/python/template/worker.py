"""Lets lockbench test a lock. It works as it is, with a plain lock on Redis; replace the five marked parts by your own lock.

    pip install -r requirements.txt
    lockbench run --worker 'python3 worker.py' --faults process-pause,holder-kill
"""
import uuid

import lockbench_worker as lockbench  # the file lockbench_worker.py in the same folder

# 1. Import your lock's library, and name it in requirements.txt.
import redis

RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"


class MyLock:
    def __init__(self, env):
        # 2. Open your lock. env.nodes holds the URLs of the servers, env.ttl the lease in seconds, and env.params the settings
        # of lockbench run --param NAME=VALUE.
        self.store = redis.Redis.from_url(env.nodes[0], socket_timeout=5)

    def try_acquire(self, request):
        # 3. Try to acquire request.key for request.ttl seconds. Raise Busy only if the store refused: after any other
        # exception, such as a timeout, lockbench assumes that the key may be locked. Return your library's lock object,
        # or a Grant with its token, fencing token or validity. If your library waits by itself, define acquire(self,
        # request) instead, and wait for up to request.wait.
        token = uuid.uuid4().hex
        if not self.store.set(request.key, token, nx=True, px=round(request.ttl * 1000)):
            raise lockbench.Busy
        return lockbench.Grant(token=token)

    def release(self, hold):
        # 4. Release the lock. hold is the Grant that try_acquire returned; hold.handle is your library's lock object.
        # Raise NotHeld only if the store no longer had the lock for this token.
        if not self.store.eval(RELEASE, 1, hold.key, hold.token):
            raise lockbench.NotHeld

    # def renew(self, hold): extend the lease to hold.ttl from now, or raise NotHeld. Define it only if your library can.


# 5. Describe your lock. lockbench_worker.serve documents all arguments. releases_unknown=True: release needs no lock object, so
# lockbench also tries to release locks of other processes.
lockbench.serve(MyLock, name="my-lock", doc="SET NX PX, and a script that compares and deletes", store="redis", releases_unknown=True)
