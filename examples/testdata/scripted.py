"""A worker whose behaviour is given by the key of a request."""
import os
import sys
import threading
import time

sys.path.append(f"{sys.path[0]}/../../impls/worker/python")
import lockbench_worker as lockbench

print("printed while importing")


class Stuck(Exception):
    pass


class Scripted:
    def __init__(self, env):
        print("printed while opening")
        os.system("echo printed by a child process")
        if env.params.get("open") == "fails":
            raise OSError(f"no connection to {env.nodes[0]}")
        self.env, self.held, self.tries = env, {}, 0

    def try_acquire(self, request):
        if request.key.endswith("fails"):
            raise OSError("timeout of redis://user:secret@host:1/0")
        if request.key.endswith("nothing"):
            return None
        if request.key in self.held:
            raise Stuck
        if request.key.endswith("slow"):
            time.sleep(0.2)
        grant = lockbench.Grant(request, token=request.key.encode(), fence=7, depth=1)
        self.held[request.key] = grant
        if request.key.endswith("early"):
            grant.renewed(5, time.monotonic())
            grant.renewed(5, time.monotonic(), lockbench.NotHeld())
            grant.lost()
        if request.key.endswith("thread"):  # as a library's thread that is no daemon
            threading.Timer(0.3, print, ["printed by a thread of the library"]).start()
        if request.key.endswith("late"):
            threading.Timer(0.3, grant.lost).start()
        return grant

    def release(self, hold):
        print("printed while releasing")
        if self.held.pop(hold.key, None) is None:
            raise LookupError(hold.token)

    def renew(self, hold):
        return hold.ttl / 2 if hold.owner == "half" else None

    def probe(self, key):
        return (None, 0) if key not in self.held else (self.held[key].token, -1)


class Waiting:
    def __init__(self, env):
        pass

    def acquire(self, request):
        over = threading.Event()
        request.on_cancel(over.set)
        if over.wait(None if request.wait < 0 else request.wait):
            raise lockbench.Busy
        return "a lock object"

    def release(self, hold):
        assert hold.handle == "a lock object"


if "waiting" in sys.argv:
    lockbench.serve(Waiting, name="scripted", capabilities=["cancel"])
else:
    lockbench.serve(Scripted, name="scripted", capabilities=["lost", "watchdog", "fencing"], busy=Stuck, not_held=LookupError,
                    releases_unknown="unknown" in sys.argv)
print("serve has returned")
