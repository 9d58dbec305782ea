"""Lets lockbench test the Lock recipe of kazoo."""
from urllib.parse import urlsplit
from uuid import uuid4

import lockbench_worker as lockbench
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import CancelledError, LockTimeout
from kazoo.version import __version__


class Kazoo:
    def __init__(self, env):
        hosts = ",".join(urlsplit(node).netloc for node in env.nodes)
        self.client = KazooClient(hosts, timeout=env.ttl, connection_retry={"max_tries": -1, "max_delay": 0.5})
        self.client.add_listener(self.changed)
        self.held = set()
        self.client.start(timeout=5)

    def changed(self, state):
        if state != KazooState.CONNECTED:  # kazoo reports LOST only once it reaches a server again, so SUSPENDED must end the work
            for grant in self.held.copy():
                grant.lost()

    def acquire(self, request):
        token = uuid4().hex
        lock = self.client.Lock("/" + request.key, token)
        request.on_cancel(lock.cancel)
        try:
            granted = lock.acquire(blocking=request.wait != 0, timeout=request.wait if request.wait > 0 else None)
        except (LockTimeout, CancelledError):
            granted = False
        if not granted:
            raise RuntimeError("its node is still in the queue") if token in lock.contenders() else lockbench.Busy
        self.held.add(grant := lockbench.Grant(lock, token=token, validity=0))  # the hold has no fixed duration
        return grant

    def release(self, hold):
        self.held.discard(hold)
        if not hold.handle.release():
            raise lockbench.NotHeld

    def probe(self, key):
        return next(iter(self.client.Lock("/" + key).contenders()), None), -1


lockbench.serve(Kazoo, name="kazoo", doc=f"kazoo {__version__}, its recipe Lock", store="zookeeper", shortest_lease_ms=400,
                capabilities=["session", "watchdog", "notifies", "lost", "cancel"])
