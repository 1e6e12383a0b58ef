"""The scripts of a store on Redis, each with its keys, its answer and its cost. It sends nothing.

Each runs on the server as one command that nothing comes between (runtime.md section 5). All its keys are named, as a
cluster demands, and lie in one slot. Texts are compared for equality only: how Lua orders them depends on the locale.
Numbers go in and out as text, so that a due time keeps all its digits.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua text and the digest that the server knows it by. `durable`: replicas may be asked to confirm its write."""

    text: str
    durable: bool = False
    sha: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sha", hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest())


# Messages and batches wait in the same way: a hash of entries (who has to do with it, and its text), for each kind a
# sorted set of ids in the order of commits, and an index by execution that a purge follows. The numbers of the order
# are microseconds of the server's clock, and one more than the last where that is not later: so they compare across
# partitions. O(log waiting) each.
_QUEUES = r"""
local function put(waiting, order, owners, mark, id, source, target, text)
  if redis.call('HEXISTS', waiting, mark .. id) == 1 then return end
  local time = redis.call('TIME')
  local number = time[1] * 1000000 + time[2]
  local last = redis.call('ZREVRANGE', order, 0, 0, 'WITHSCORES')[2]
  if last and tonumber(last) >= number then number = tonumber(last) + 1 end
  redis.call('HSET', waiting, mark .. id, cmsgpack.pack({source, target, text}))
  redis.call('ZADD', order, string.format('%.0f', number), id)
  redis.call('ZADD', owners, 0, source .. '\0' .. mark .. id, 0, target .. '\0' .. mark .. id)
end
local function drop(waiting, order, owners, mark, id)
  local entry = redis.call('HGET', waiting, mark .. id)
  if not entry then return false end
  local parts = cmsgpack.unpack(entry)
  redis.call('HDEL', waiting, mark .. id)
  redis.call('ZREM', order, id)
  redis.call('ZREM', owners, parts[1] .. '\0' .. mark .. id, parts[2] .. '\0' .. mark .. id)
  return true
end
"""

# What belongs to a step besides the record. The first argument has numbers and plain words: one argument of many words
# costs less than many. Its last part, empty for most steps, counts what follows in the other arguments. The keys of
# timers, trace and queues are named only by a step that has something for them. O(log n) for each effect, and
# O(forgotten) for processed ids. The answer is `written`, or a list of the messages that were to be acknowledged and
# are not in this partition.
_EFFECTS = r"""
local version, expected, status, token, is_root, number, time, oldest, lowest, counts = ARGV[1]:match(
  '^([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+)(.*)$')
local id, record = ARGV[2], ARGV[3]
local key_at, at = FIXED_KEYS, 3
local function key() key_at = key_at + 1 return KEYS[key_at] end
local function take() at = at + 1 return ARGV[at] end

local function remember(seen, numbers)
  local event = take()
  redis.call('HSET', seen, event, number)
  redis.call('RPUSH', numbers, number .. ' ' .. time .. ' ' .. event)
  if oldest == '-' then return end
  while true do
    local its_number, its_time, its_event = redis.call('LINDEX', numbers, 0):match('^([^ ]+) ([^ ]+) (.*)$')
    if tonumber(its_time) >= tonumber(oldest) and tonumber(its_number) > tonumber(lowest) then return end
    redis.call('LPOP', numbers)
    if redis.call('HGET', seen, its_event) == its_number then redis.call('HDEL', seen, its_event) end
  end
end

local function change_timers(timers, due, cancels, arms, hold)
  local function disarm(path)
    local armed = redis.call('HGET', timers, path)
    if armed then
      redis.call('ZREM', due, armed:match('^[^ ]+ (.*)$'))
      redis.call('HDEL', timers, path)
    end
  end
  for _ = 1, cancels do disarm(take()) end
  for _ = 1, arms do
    local path, due_time, member = take(), take(), take()
    disarm(path)
    redis.call('HSET', timers, path, due_time .. ' ' .. member)
    redis.call('ZADD', due, due_time, member)
  end
  if hold == '-' then return end
  for _, armed in ipairs(redis.call('HVALS', timers)) do
    local due_time, member = armed:match('^([^ ]+) (.*)$')
    if hold == '1' then redis.call('ZREM', due, member) else redis.call('ZADD', due, due_time, member) end
  end
end

local function change_queues(waiting, outbox, batches, owners, emits, spawns, acks, spawn_acks, elsewhere)
  for _ = 1, emits do put(waiting, outbox, owners, 'm', take(), take(), take(), take()) end
  for _ = 1, spawns do
    local batch, parent, text = take(), take(), take()
    put(waiting, batches, owners, 's', batch, parent, parent, text)
  end
  for _ = 1, acks do
    local message = take()
    if not drop(waiting, outbox, owners, 'm', message) then elsewhere[#elsewhere + 1] = message end
  end
  for _ = 1, spawn_acks do drop(waiting, batches, owners, 's', take()) end
end

local function apply()
  local elsewhere = {}
  if number ~= '-' then remember(key(), key()) end
  if counts == '' then return 'written' end
  local forgets, cancels, arms, hold, emits, spawns, acks, spawn_acks, trace_limit = counts:match(
    '^ ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+)$')
  if forgets ~= '0' then redis.call('HDEL', key(), take()) end
  if cancels ~= '0' or arms ~= '0' or hold ~= '-' then change_timers(key(), key(), cancels, arms, hold) end
  if emits ~= '0' or spawns ~= '0' or acks ~= '0' or spawn_acks ~= '0' then
    change_queues(key(), key(), key(), key(), emits, spawns, acks, spawn_acks, elsewhere)
  end
  if trace_limit ~= '-' then
    local trace = key()
    redis.call('RPUSH', trace, take())
    redis.call('LTRIM', trace, -trace_limit, -1)
  end
  return #elsewhere == 0 and 'written' or elsewhere
end
"""

# The record of an execution is a hash: v(ersion), s(tatus), r(ecord), t(oken of the write), c(reated by: the first
# token). A client library may send a command again whose answer was lost: by the token the write is known as done.

_CREATE = r"""
local creator = redis.call('HGET', KEYS[1], 'c')
if creator then return creator == token and 'again' or 'taken' end
redis.call('HSET', KEYS[1], 'v', version, 's', status, 'r', record, 't', token, 'c', token)
redis.call('ZADD', KEYS[2], 0, status .. '\0' .. id)
redis.call('ZADD', KEYS[3], 0, id)
if is_root == '1' then redis.call('ZADD', KEYS[4], 0, id) end
return apply()
"""

CREATE = Script(_QUEUES + _EFFECTS.replace("FIXED_KEYS", "4") + _CREATE, durable=True)
"""Write a new record with its effects. Answers `written` or what was acknowledged in vain, `again` or `taken`."""

_COMMIT = r"""
local old = redis.call('HMGET', KEYS[1], 'v', 's', 't')
if not old[1] then return 'gone' end
if old[3] == token then return 'again' end
if old[1] ~= expected then return 'lost' end
redis.call('HSET', KEYS[1], 'v', version, 's', status, 'r', record, 't', token)
if old[2] ~= status then
  redis.call('ZREM', KEYS[2], old[2] .. '\0' .. id)
  redis.call('ZADD', KEYS[2], 0, status .. '\0' .. id)
end
return apply()
"""

COMMIT = Script(_QUEUES + _EFFECTS.replace("FIXED_KEYS", "2") + _COMMIT, durable=True)
"""Replace a record at the expected version, with its effects. Answers as `CREATE`, or `lost`, or `gone`."""

LOAD_STEP = Script(r"""
local record = redis.call('HGET', KEYS[1], 'r')
local processed, waiting = redis.call('HEXISTS', KEYS[2], ARGV[1]), redis.call('EXISTS', KEYS[3])
return processed + waiting == 0 and record or {record, processed, waiting}
""")
"""Record, whether the event id was processed, and whether something waits in the partition; where neither is so, the
record alone, which is read faster. O(1)."""

READ = Script(r"""
local records = {}
for number, key in ipairs(KEYS) do records[number] = redis.call('HGET', key, 'r') end
return records
""")
"""The records under some keys. O(keys)."""

PENDING = Script(r"""
local after = ARGV[1]
if ARGV[2] == '1' then
  local number = redis.call('ZSCORE', KEYS[2], ARGV[3])
  if number then after = '(' .. number end
end
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], after, '+inf', 'LIMIT', 0, ARGV[4])) do
  found[#found + 1] = redis.call('ZSCORE', KEYS[2], id)
  found[#found + 1] = cmsgpack.unpack(redis.call('HGET', KEYS[1], ARGV[5] .. id))[3]
end
return found
""")
"""Number and text of what waits, in order, from a number on or after an id. O(answered)."""

ACK = Script(_QUEUES + r"""
return drop(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]) and 1 or 0
""")
"""Forget a message or batch; whether it was there. O(log waiting)."""

DUE_AFTER = Script(r"""
local function is_before(a, b)
  for place = 1, math.min(#a, #b) do
    local ours, theirs = a:byte(place), b:byte(place)
    if ours ~= theirs then return ours < theirs end
  end
  return #a < #b
end
local low = redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. ARGV[1])
local high = redis.call('ZCOUNT', KEYS[1], '-inf', ARGV[1])
while low < high do
  local middle = math.floor((low + high) / 2)
  if is_before(redis.call('ZRANGE', KEYS[1], middle, middle)[1], ARGV[2]) then low = middle + 1 else high = middle end
end
return redis.call('ZRANGE', KEYS[1], low, low + ARGV[3] - 1, 'WITHSCORES')
""")
"""Entries of the due index behind a time and a member, which need not be there any more. O(log armed + answered)."""

_FORGET = r"""
local function forget(waiting, outbox, batches, owners)
  for _, id in ipairs(ARGV) do
    for _, owned in ipairs(redis.call('ZRANGEBYLEX', owners, '[' .. id .. '\0', '(' .. id .. '\1')) do
      local mark, entry = owned:sub(#id + 2, #id + 2), owned:sub(#id + 3)
      drop(waiting, mark == 'm' and outbox or batches, owners, mark, entry)
    end
  end
end
forget(unpack(KEYS, 1, 4))
"""

FORGET = Script(_QUEUES + _FORGET)
"""Drop what waits from or for executions that live in other partitions. O(log waiting) each."""

_PURGE = r"""
local due, status, ids, roots = unpack(KEYS, 5, 8)
for number, id in ipairs(ARGV) do
  local at = 9 + (number - 1) * 5
  local record, timers, seen, numbers, trace = unpack(KEYS, at, at + 4)
  for _, armed in ipairs(redis.call('HVALS', timers)) do redis.call('ZREM', due, armed:match('^%S+ (.*)$')) end
  local its_status = redis.call('HGET', record, 's')
  if its_status then redis.call('ZREM', status, its_status .. '\0' .. id) end
  redis.call('ZREM', ids, id)
  redis.call('ZREM', roots, id)
  redis.call('DEL', record, timers, seen, numbers, trace)
end
"""

PURGE = Script(_QUEUES + _FORGET + _PURGE)
"""Delete executions of a partition with all that belongs to them. O(log n + what they hold) each."""

PUBLISH = Script(
    r"""
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 1 then redis.call('HSET', KEYS[2], ARGV[1], ARGV[3]) end
return redis.call('HGET', KEYS[1], ARGV[1])
""",
    durable=True,
)
"""Keep a document unless the version is kept already; the digest that is kept. O(1)."""

OPEN = Script(r"""
if ARGV[1] == '1' and redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'format', ARGV[2], 'partitions', ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'format', 'partitions')
""")
"""Format and number of partitions of the store, which is made if it is asked for and not there. O(1)."""

MARK = Script(
    r"""
redis.call('SET', KEYS[1], '', 'PX', 1000)
""",
    durable=True,
)
"""A write that stands behind all writes before it, for replicas to confirm. O(1)."""
