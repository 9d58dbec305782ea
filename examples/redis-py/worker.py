"""A worker for the class Lock of redis-py: see docs/reference/worker-protocol.md. Run pip install -r requirements.txt, then
lockbench run --worker 'python3 examples/redis-py/worker.py' --faults process-pause"""
import json, sys, threading, time, urllib.parse, urllib.request
import redis
from redis.exceptions import LockError
from redis.lock import Lock

env = json.loads(sys.stdin.readline())
store = redis.Redis.from_url(env["nodes"][0])
web = urllib.request.build_opener(urllib.request.ProxyHandler({}))
one_line, held, cancelled = threading.Lock(), {}, set()  # held: locks by the id of their acquire
def say(**line):
    with one_line:
        print(json.dumps(line), flush=True)
def lock_of(q):
    return Lock(store, env["prefix"] + q["key"], timeout=q.get("ttl_ms", 1) / 1000, thread_local=False)

def acquire(q, read):  # waits like Lock.acquire, and records when the granted attempt was sent
    lock, wait = lock_of(q), q.get("wait_ms", 0)
    while True:
        sent = time.monotonic_ns() - read
        if lock.acquire(blocking=False):
            held[q["id"]] = lock
            return dict(ok=True, token=lock.local.token.decode(), sent_after_ns=sent, validity_ns=q["ttl_ms"] * 1_000_000)
        if q["id"] in cancelled or 0 <= wait * 1_000_000 <= time.monotonic_ns() - read:
            return dict(refused="busy")  # the store refused the last attempt
        time.sleep(0.02)
def release(q, _):
    lock = held.pop(q.get("hold"), None)
    lock.release() if lock else lock_of(q).do_release(q["token"])
def renew(q, read):
    sent = time.monotonic_ns() - read
    held[q["hold"]].extend(q["validity_ns"] / 1e9, replace_ttl=True)
    return dict(ok=True, sent_after_ns=sent, validity_ns=q["validity_ns"])
def probe(q, _):
    name = env["prefix"] + q["key"]
    return dict(ok=True, token=(store.get(name) or b"").decode(), left_ns=max(-1, store.pttl(name) * 1_000_000))
def guarded(method, q, body=None):
    url = env["resource"] + urllib.parse.quote(q["key"], safe="") + "?fence=0"  # this lock has no fencing tokens
    return web.open(urllib.request.Request(url, body, method=method), timeout=9).read()
does = dict(acquire=acquire, release=release, renew=renew, probe=probe, ping=lambda q, _: None,
            read=lambda q, _: dict(ok=True, value=int(guarded("GET", q))), append=lambda q, _: guarded("POST", q) and None,
            write=lambda q, _: guarded("PUT", q, b"%d" % q.get("value", 0)) and None)

def answer(q, read):
    try:
        say(id=q["id"], **(does[q["do"]](q, read) or dict(ok=True)))
    except LockError:  # the lease had expired
        say(id=q["id"], refused="not held")
    except Exception as e:
        say(id=q["id"], error=f"{type(e).__name__}: {e}")
say(lockbench_worker=1, name="redis-py", doc=f"redis-py {redis.__version__}, its class Lock", capabilities=["renew", "probe"], backoff_ms=20)
for text in sys.stdin:
    q, read = json.loads(text), time.monotonic_ns()
    if q["do"] == "shutdown":
        break
    if q["do"] == "cancel":
        cancelled.add(q["hold"])
    else:
        threading.Thread(target=answer, args=(q, read), daemon=True).start()
