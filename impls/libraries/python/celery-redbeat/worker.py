"""Lets lockbench test the lock of celery-redbeat. An acquire starts celery beat, and a release ends it."""
import threading
from importlib.metadata import version

import lockbench_worker as lockbench
from beat import INTERVAL, Beat
from celery import Celery
from redbeat.schedulers import get_redis
from redis.exceptions import LockError


class RedBeat:
    def __init__(self, env):
        self.app = Celery(broker="memory://", set_as_current=False)
        self.app.conf.update(redbeat_redis_url=env.nodes[0], redbeat_redis_options={"socket_timeout": 5},
                             redbeat_key_prefix=env.prefix + "redbeat:", result_expires=None)
        client = get_redis(self.app)
        lock = client.lock
        client.lock = lambda *args, **kwargs: lock(*args, blocking_timeout=threading.current_thread().timeout, **kwargs)

    def acquire(self, request):
        return Beat(self.app, request).answer.result()

    def release(self, hold):
        beat, hold.handle = hold.handle, None
        if not beat:
            raise lockbench.NotHeld  # this beat has ended
        beat.service.stop()
        beat.join()
        if beat.error:
            raise beat.error


lockbench.serve(RedBeat, name="celery-redbeat", doc=f"celery-redbeat {version('celery-redbeat')}, the lock of celery beat",
                capabilities=["watchdog", "lost"], not_held=LockError, backoff_ms=200, shortest_lease_ms=1000, lease_step_ms=1000,
                expect=[{"property": "owner-release", "workload": "misuse", "verdict": "unspecified", "because": "a release reports nothing"}])
