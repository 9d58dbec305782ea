"""Lets lockbench test a lock written in Python 3.9 or later. This file needs no package; copy it beside a program such as

    import lockbench_worker as lockbench

    class MyLock:
        def __init__(self, env):
            self.client = my_library.connect(env.nodes[0])

        def try_acquire(self, request):
            lock = self.client.try_lock(request.key, request.ttl)
            if lock is None:
                raise lockbench.Busy
            return lockbench.Grant(lock, token=lock.token)

        def release(self, hold):
            if not hold.handle.unlock():
                raise lockbench.NotHeld

    lockbench.serve(MyLock, name="my-lock", store="redis")

and run lockbench run --worker 'python3 my_lock.py'. All times are in seconds. docs/reference/worker-protocol.md describes the
lines that serve reads and writes.
"""

import contextlib
import json
import os
import re
import sys
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections import deque
from dataclasses import dataclass
from queue import SimpleQueue

__all__ = ["Busy", "Env", "Grant", "NotHeld", "Request", "serve"]

VERSION = 2
KEPT_RELEASED = 16384  # maximum number of released holds that are kept, because a hold may be released again
MOST_THREADS = 4096
RESOURCE_TIMEOUT = 9  # in seconds; shorter than the 10 s for which lockbench waits for a reply
LONGEST_ERROR = 1000

_output = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)  # all other output of the program goes to standard error
sys.stdout = sys.stderr


class Busy(Exception):
    """Refuses an acquire: another client holds the lock, and this acquire left nothing behind."""


class NotHeld(Exception):
    """Refuses a release or renewal: the store no longer had the hold for this owner, and nothing was changed."""


class _Stale(Exception):
    """The resource has seen a higher fencing token."""


@dataclass(frozen=True)
class Env:
    """The servers and settings with which a lock is opened."""

    nodes: list  # URLs of the servers, which may contain passwords
    prefix: str  # prefix of every key in the store; the keys of requests already contain it
    process: int  # number of this process, from 0
    seed: int  # seed for random numbers, so that a run can be repeated
    ttl: float  # lease that the acquires of the trial request; 0: unknown
    params: dict  # further parameters, by name; all values are text
    ca_file: str  # certificates to trust with rediss://; "": those of the system


class Request:
    """The parameters of an acquire."""

    def __init__(self, key, owner, ttl, wait, keep_alive):
        self.key = key
        self.owner = owner  # name of the client; only re-entrant locks need it
        self.ttl = ttl
        self.wait = wait  # 0: try once; negative: wait until granted or cancelled; otherwise the timeout
        self.keep_alive = keep_alive  # whether to renew the hold until its release, if the lock can
        self.cancelled = threading.Event()
        self._callbacks = []
        self._lock = threading.Lock()

    def on_cancel(self, callback):
        """Calls callback when the acquire is cancelled, or now if it has been cancelled."""
        with self._lock:
            if not self.cancelled.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def _cancel(self):
        with self._lock:
            self.cancelled.set()
        for callback in self._callbacks:
            callback()


class Grant:
    """A lock that was granted. release and renew receive it again, with key, owner and ttl set."""

    def __init__(self, handle=None, *, token=None, fence=0, validity=None, depth=0):
        self.handle = handle  # the library's lock object, or any value
        self.token = _text(token) if token else uuid.uuid4().hex  # identifies the grant in the store
        self.fence = fence  # fencing token
        self.validity = validity  # promised duration; None: the requested ttl; -1: no end; 0: unknown
        self.depth = depth  # nesting depth of a grant of a re-entrant lock; 1 for the outermost grant
        self.key = self.owner = self.ttl = None
        self._report = None
        self._early = []  # notices to write after the reply to the acquire
        self._lock = threading.Lock()

    def lost(self):
        """Reports that the hold is lost. Any thread may call it, also before try_acquire or acquire returns the grant."""
        self._notify("lost", time.monotonic(), {})

    def renewed(self, validity, sent, error=None):
        """Reports a renewal that the library made by itself. validity is the promised duration, counted from sent, which is
        time.monotonic() when the renewal was sent. error is None, NotHeld() if the store refused the renewal, and otherwise the
        exception that left the outcome unknown."""
        if error is None:
            outcome = {"ok": True, "validity_ns": _nanoseconds(validity)}
        else:
            outcome = {"refused": "not held"} if isinstance(error, NotHeld) else {"error": _describe(error)}
        self._notify("renewed", sent, outcome)

    def _notify(self, what, at, outcome):
        with self._lock:
            if self._report:
                self._report(what, at, outcome)
            else:
                self._early.append((what, at, outcome))

    def _open_notices(self, report):
        with self._lock:
            self._report = report
            for notice in self._early:
                report(*notice)
            self._early.clear()


def serve(adapter, *, name, capabilities=(), backoff_ms=20, busy=(), not_held=(), releases_unknown=False, **description):
    """Serves a lock to lockbench on standard input and output. It ends the process when lockbench ends the worker. It returns at
    the end of the input, so that the program ends as it would without lockbench: threads that are no daemons go on.

    adapter is a class. adapter(env) opens the lock of this process. Threads call its methods concurrently:

        try_acquire(request)  requests the lock once, and returns its lock object or a Grant, or raises Busy.
                              Waiters call it every backoff_ms
        acquire(request)      instead of try_acquire: the library itself waits for up to request.wait
        release(hold)         releases a Grant, or raises NotHeld
        renew(hold)           extends a Grant to hold.ttl from now, and returns the promised duration or None for hold.ttl; optional
        probe(key)            returns the token stored for a key (None: free) and the remaining time (negative: no end); optional

    Raise Busy and NotHeld only if the store refused the request. After any other exception lockbench assumes that the
    request may have taken effect. busy and not_held are the library's exceptions that mean the same. If
    releases_unknown is true, release also receives holds that this process was never granted; their handle is None.

    capabilities are those that do not follow from the methods, such as "watchdog". The other arguments are fields of the
    description in docs/reference/worker-protocol.md, such as doc, store, deployment, shortest_lease_ms and start_ms.
    """
    waits = hasattr(adapter, "acquire")
    implied = {"renew": hasattr(adapter, "renew"), "probe": hasattr(adapter, "probe"), "waits": waits, "cancel": not waits}
    about = {"name": name, "backoff_ms": backoff_ms, **description}
    about["capabilities"] = sorted({*capabilities, *(c for c in implied if implied[c])})
    server = _Server(backoff_ms / 1000, (Busy, *_tuple(busy)), (NotHeld, *_tuple(not_held)), releases_unknown)
    code = 1
    try:
        server.open(adapter, about, sys.stdin.buffer.readline())
        if not server.run(sys.stdin.buffer):
            return
        code = 0
    except Exception as error:
        _log(error)
    sys.stderr.flush()
    os._exit(code)  # skips the library's exit handlers, because they might release locks


class _Threads:
    """Runs calls in threads. They do not keep the process alive when the main thread has ended."""

    def __init__(self):
        self.calls, self.idle, self.count = SimpleQueue(), threading.Semaphore(0), 0

    def submit(self, call, *arguments):
        self.calls.put((call, arguments))
        if not self.idle.acquire(blocking=False) and self.count < MOST_THREADS:
            threading.Thread(target=self._run, daemon=True).start()
            self.count += 1

    def _run(self):
        # A thread inherits this from the thread that starts it. The library's threads must be as they are without lockbench,
        # where the main thread calls the library.
        threading.current_thread()._daemonic = False
        while True:
            call, arguments = self.calls.get()
            try:
                call(*arguments)
            except Exception as error:
                _log(error)
            self.idle.release()


class _Server:
    def __init__(self, backoff, busy, not_held, releases_unknown):
        self.writing = threading.Lock()
        self.backoff, self.releases_unknown = backoff, releases_unknown
        self.busy = busy
        self.definite = {"acquire": ("busy", busy), "release": ("not held", not_held), "renew": ("not held", not_held)}
        self.definite.update(dict.fromkeys(("read", "write", "append"), ("stale", _Stale)))
        self.adapter = None
        self.holds = {}  # grants by the id of the acquire
        self.released = deque()  # ids of released grants, the oldest first
        self.acquires = {}  # outstanding acquires, by id
        self.web = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def open(self, adapter, about, line):
        """Handles the first line: describes the lock, or opens it."""
        try:
            first = json.loads(line or b"null")
            if not isinstance(first, dict) or first.get("lockbench_worker") != VERSION:
                raise ValueError(f"want a first line of version {VERSION} of the worker protocol; lockbench run --worker starts a worker")
            self.prefix, self.resource = first.get("prefix", ""), first.get("resource", "")
            if not first.get("describe"):
                self.adapter = adapter(Env(first["nodes"], self.prefix, first["process"], first["seed"],
                                           first.get("ttl_ms", 0) / 1000, first.get("params", {}), first.get("ca_file", "")))
        except Exception as error:
            self.write({"lockbench_worker": VERSION, "name": about["name"], "error": _describe(error)})
            raise
        self.write({"lockbench_worker": VERSION, **about})

    def run(self, lines):
        """Serves requests until the input ends or a shutdown is requested. Reports whether it was requested."""
        pool = _Threads()
        for line in lines:
            read, r = time.monotonic(), json.loads(line)
            if r["do"] == "shutdown":
                return True
            if r["do"] == "acquire":
                self.acquires[r["id"]] = Request(self.prefixed(r), r.get("owner", ""), r.get("ttl_ms", 0) / 1000,
                                                 r.get("wait_ms", 0) / 1000, r.get("keep_alive", False))
            with contextlib.suppress(RuntimeError):  # if no thread can be started, a running thread serves the request later
                if r["do"] != "cancel":
                    pool.submit(self.answer, r, read)
                elif request := self.acquires.get(r.get("hold")):
                    pool.submit(request._cancel)
        return False

    def answer(self, r, read):
        request = {"acquire": self.acquire, "release": self.release, "renew": self.renew, "probe": self.probe, "read": self.read,
                   "write": self.store, "append": self.append, "ping": self.ping}.get(r["do"], self.unknown)
        try:
            line = {"id": r["id"], "ok": True, **request(r, read)}
        except BaseException as error:
            reason, types = self.definite.get(r["do"], ("", ()))
            if isinstance(error, types):
                line = {"id": r["id"], "refused": reason}
            else:
                _log(error)
                line = {"id": r["id"], "error": _describe(error)}
        self.acquires.pop(r["id"], None)
        self.write(line)
        if r["do"] == "acquire" and "ok" in line:
            self.holds[r["id"]]._open_notices(lambda what, at, outcome: self.write(
                {what: r["id"], "elapsed_ns": _nanoseconds(max(0, at - read)), **outcome}))

    def write(self, line):
        text = json.dumps(line).encode() + b"\n"
        with self.writing:
            _output.write(text)
            _output.flush()

    def prefixed(self, r):
        return self.prefix + r.get("key", "")

    def acquire(self, r, read):
        request = self.acquires[r["id"]]
        if hasattr(self.adapter, "acquire"):
            granted, timing = self.adapter.acquire(request), {}
        else:
            granted, sent = self.poll(request, read)
            timing = {"sent_after_ns": _nanoseconds(sent - read)}
        if granted is None:
            raise TypeError("the adapter's acquire returned None: return the lock object or a Grant, or raise Busy")
        hold = granted if isinstance(granted, Grant) else Grant(granted)
        hold.key, hold.owner, hold.ttl = request.key, request.owner, request.ttl
        self.holds[r["id"]] = hold
        validity = _nanoseconds(hold.ttl if hold.validity is None else hold.validity)
        return {"token": hold.token, "fence": hold.fence, "depth": hold.depth, "validity_ns": validity, **timing}

    def poll(self, request, read):
        """Calls try_acquire until it is granted or the request ends. Returns the grant and the time of the granted try."""
        while True:
            sent = time.monotonic()
            try:
                return self.adapter.try_acquire(request), sent
            except self.busy:
                left = self.backoff if request.wait < 0 else min(self.backoff, read + request.wait - time.monotonic())
                if left <= 0 or request.cancelled.wait(left):
                    raise

    def release(self, r, read):
        self.adapter.release(self.hold(r))
        return {}

    def renew(self, r, read):
        hold, sent = self.hold(r), time.monotonic()
        validity = self.adapter.renew(hold)
        return {"sent_after_ns": _nanoseconds(sent - read), "validity_ns": _nanoseconds(hold.ttl if validity is None else validity)}

    def hold(self, r):
        """Returns the hold of a request. If there is none, raises NotHeld, or makes a hold for the adapter to release."""
        hold = self.holds.get(r.get("hold"))
        if r["do"] == "release" and hold:
            self.released.append(r["hold"])
            if len(self.released) > KEPT_RELEASED:
                self.holds.pop(self.released.popleft(), None)
        if hold is None:
            if r["do"] != "release" or not self.releases_unknown:
                raise NotHeld
            hold = Grant(token=r.get("token"), fence=r.get("fence", 0))
            hold.key, hold.owner = self.prefixed(r), r.get("owner")
        return hold

    def probe(self, r, read):
        token, left = self.adapter.probe(self.prefixed(r))
        if not token:
            return {}
        return {"token": _text(token), "left_ns": _nanoseconds(left)}

    def read(self, r, read):
        return {"value": int(self.guarded("GET", r))}

    def store(self, r, read):
        self.guarded("PUT", r, b"%d" % r.get("value", 0))
        return {}

    def append(self, r, read):
        self.guarded("POST", r)
        return {}

    def guarded(self, method, r, body=None):
        url = f"{self.resource}{urllib.parse.quote(r['key'], safe='')}?fence={r.get('fence', 0)}"
        try:
            with self.web.open(urllib.request.Request(url, body, method=method), timeout=RESOURCE_TIMEOUT) as response:
                return response.read()
        except urllib.error.HTTPError as error:
            if error.code == 409:
                raise _Stale from None
            raise

    def ping(self, r, read):
        return {"time_ms": round(time.time() * 1000)} if r.get("time") else {}

    def unknown(self, r, read):
        raise ValueError(f"unknown request {r['do']!r}")


def _tuple(types):
    return types if isinstance(types, tuple) else (types,)


def _text(token):
    return token.decode() if isinstance(token, bytes) else str(token)


def _nanoseconds(seconds):
    return -1 if seconds < 0 else round(seconds * 1e9)


def _describe(error):
    """Returns the type and message of an exception, without credentials."""
    return _without_credentials(f"{type(error).__name__}: {error}")[:LONGEST_ERROR]


def _log(error):
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    print(_without_credentials(text), file=sys.stderr)


def _without_credentials(text):
    return re.sub(r"(\w://)[^\s/]*@", r"\1", text)
