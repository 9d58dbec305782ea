"""Runs celery beat in a thread for each acquire, and reports what RedBeat does with its lock."""
import threading
import time
from concurrent.futures import Future
from functools import partial

import lockbench_worker as lockbench
from celery.beat import Service
from redbeat.schedulers import RedBeatScheduler

INTERVAL = 0.2  # longest time in seconds between two ticks of beat, and between two tries of a waiter; RedBeat's default is 300


class Beat(threading.Thread):
    """A thread of celery beat. answer is the outcome of its acquire, and error ended it."""

    def __init__(self, app, request):
        super().__init__(daemon=True)
        self.timeout, self.answer, self.error = None if request.wait < 0 else request.wait, Future(), None
        self.service = Service(app, INTERVAL, scheduler_cls=partial(Scheduler, lock_key=request.key, lock_timeout=request.ttl))
        self.start()

    def run(self):
        try:
            self.service.start()
        except Exception as error:
            self.error = error
            if not self.answer.done():
                self.answer.set_exception(error)


class Scheduler(RedBeatScheduler):
    def tick(self, *args, **kwargs):
        """Extends the lock. beat calls it right after the acquire, and then in each interval."""
        beat, sent = threading.current_thread(), time.monotonic()
        if self.lock and not beat.answer.done():
            if not self.lock.local.token:
                raise lockbench.Busy  # reported here, because RedBeat has no timeout and ignores this result
            beat.answer.set_result(lockbench.Grant(beat, token=self.lock.local.token))
        try:
            interval = super().tick(*args, **kwargs)
        except Exception:
            if beat.answer.done():
                beat.answer.result().lost()  # the error ends beat
            raise
        beat.answer.result().renewed(self.lock_timeout, sent)
        return interval
