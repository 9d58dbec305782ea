"""A lock on Redis that stores the end of its lease. The argument names the clock: time (the wall clock) or monotonic."""

import socket
import sys
import time
import urllib.parse

import lockbench_worker as lockbench

clock = getattr(time, sys.argv[1])

ACQUIRE = """local _, _, ends = string.find(redis.call('GET', KEYS[1]) or '', ' (.*)')
if ends and tonumber(ends) > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. ARGV[3])
return 1"""
RELEASE = """local _, _, token, ends = string.find(redis.call('GET', KEYS[1]) or '', '(.*) (.*)')
if token ~= ARGV[2] or tonumber(ends) < tonumber(ARGV[1]) then return 0 end
return redis.call('DEL', KEYS[1])"""


class LeaseEnd:
    def __init__(self, env):
        url = urllib.parse.urlsplit(env.nodes[0])
        self.address = url.hostname, url.port

    def call(self, *words):
        line = b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in (str(w).encode() for w in words))
        with socket.create_connection(self.address, timeout=5) as connection:
            connection.sendall(b"*%d\r\n%s" % (len(words), line))
            reply = connection.makefile("rb").readline().decode()
        if not reply.startswith(":"):
            raise ConnectionError(reply)
        return int(reply[1:])

    def try_acquire(self, request):
        grant = lockbench.Grant()
        now = clock()
        end = now + request.ttl
        if not self.call("EVAL", ACQUIRE, 1, request.key, f"{now:.6f}", grant.token, f"{end:.6f}"):
            raise lockbench.Busy
        grant.validity = max(0.001, end - clock())
        return grant

    def release(self, hold):
        if not self.call("EVAL", RELEASE, 1, hold.key, f"{clock():.6f}", hold.token):
            raise lockbench.NotHeld


lockbench.serve(LeaseEnd, name="lease-end-" + sys.argv[1], store="redis")
