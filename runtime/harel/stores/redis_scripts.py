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


# Messages and batches wait in the same way: a hash of entries (who has to do with it, and its text), a sorted set of
# their ids in the order of commits, and an index by execution that a purge follows. The numbers of the order are
# microseconds of the server's clock, and one more than the last where that is not later: so they also compare across
# partitions. O(log waiting) each.
_QUEUES = r"""
local function put(entries, order, owners, mark, id, source, target, text)
  if redis.call('HEXISTS', entries, id) == 1 then return end
  local time = redis.call('TIME')
  local number = time[1] * 1000000 + time[2]
  local last = redis.call('ZREVRANGE', order, 0, 0, 'WITHSCORES')[2]
  if last and tonumber(last) >= number then number = tonumber(last) + 1 end
  redis.call('HSET', entries, id, cmsgpack.pack({source, target, text}))
  redis.call('ZADD', order, string.format('%.0f', number), id)
  redis.call('ZADD', owners, 0, source .. '\0' .. mark .. id, 0, target .. '\0' .. mark .. id)
end
local function drop(entries, order, owners, mark, id)
  local entry = redis.call('HGET', entries, id)
  if not entry then return false end
  local parts = cmsgpack.unpack(entry)
  redis.call('HDEL', entries, id)
  redis.call('ZREM', order, id)
  redis.call('ZREM', owners, parts[1] .. '\0' .. mark .. id, parts[2] .. '\0' .. mark .. id)
  return true
end
"""

# What belongs to a step besides the record: KEYS[1] to KEYS[11], and ARGV from the seventh on, each list with its
# length before it. O(log n) for each effect, and O(forgotten) for processed ids. The answer are the messages that were
# to be acknowledged and are not in this partition.
_EFFECTS = _QUEUES + r"""
local timers, seen, numbers, trace, due = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local outbox, outbox_order, spawns, spawns_order, owners = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local at = 6
local function take() at = at + 1 return ARGV[at] end
local function count() return tonumber(take()) end

local function disarm(path)
  local armed = redis.call('HGET', timers, path)
  if armed then
    redis.call('ZREM', due, armed:match('^%S+ (.*)$'))
    redis.call('HDEL', timers, path)
  end
end

local function apply()
  for _ = 1, count() do disarm(take()) end
  for _ = 1, count() do
    local path, time, member = take(), take(), take()
    disarm(path)
    redis.call('HSET', timers, path, time .. ' ' .. member)
    redis.call('ZADD', due, time, member)
  end
  local hold = take()
  if hold ~= '' then
    for _, armed in ipairs(redis.call('HVALS', timers)) do
      local time, member = armed:match('^(%S+) (.*)$')
      if hold == '1' then redis.call('ZREM', due, member) else redis.call('ZADD', due, time, member) end
    end
  end

  for _ = 1, count() do redis.call('HDEL', seen, take()) end
  for _ = 1, count() do
    local event, number, time, oldest, lowest = take(), take(), take(), tonumber(take()), tonumber(take())
    redis.call('HSET', seen, event, number)
    redis.call('RPUSH', numbers, number .. ' ' .. time .. ' ' .. event)
    while true do
      local first = redis.call('LINDEX', numbers, 0)
      if not first then break end
      local its_number, its_time, its_event = first:match('^(%S+) (%S+) (.*)$')
      if tonumber(its_time) >= oldest and tonumber(its_number) > lowest then break end
      redis.call('LPOP', numbers)
      if redis.call('HGET', seen, its_event) == its_number then redis.call('HDEL', seen, its_event) end
    end
  end

  for _ = 1, count() do put(outbox, outbox_order, owners, 'm', take(), take(), take(), take()) end
  for _ = 1, count() do
    local id, parent, text = take(), take(), take()
    put(spawns, spawns_order, owners, 's', id, parent, parent, text)
  end
  local elsewhere = {'written'}
  for _ = 1, count() do
    local id = take()
    if not drop(outbox, outbox_order, owners, 'm', id) then elsewhere[#elsewhere + 1] = id end
  end
  for _ = 1, count() do drop(spawns, spawns_order, owners, 's', take()) end
  for _ = 1, count() do
    redis.call('RPUSH', trace, take())
    redis.call('LTRIM', trace, -take(), -1)
  end
  return elsewhere
end
"""

# The record of an execution is a hash: v(ersion), s(tatus), r(ecord), t(oken of the write), c(reated by: the first
# token). A client library may send a command again whose answer was lost: by the token the write is known as done.

CREATE = Script(
    _EFFECTS + r"""
local id, token, version, record, status, is_root = unpack(ARGV, 1, 6)
local creator = redis.call('HGET', KEYS[1], 'c')
if creator then return {creator == token and 'again' or 'taken'} end
redis.call('HSET', KEYS[1], 'v', version, 's', status, 'r', record, 't', token, 'c', token)
redis.call('ZADD', KEYS[12], 0, status .. '\0' .. id)
redis.call('ZADD', KEYS[13], 0, id)
if is_root == '1' then redis.call('ZADD', KEYS[14], 0, id) end
return apply()
""",
    durable=True,
)
"""Write a new record with its effects. Answers `written` and what was acknowledged in vain, `again` or `taken`."""

COMMIT = Script(
    _EFFECTS + r"""
local id, token, version, record, status, expected = unpack(ARGV, 1, 6)
local old = redis.call('HMGET', KEYS[1], 'v', 's', 't')
if not old[1] then return {'gone'} end
if old[3] == token then return {'again'} end
if old[1] ~= expected then return {'lost'} end
redis.call('HSET', KEYS[1], 'v', version, 's', status, 'r', record, 't', token)
if old[2] ~= status then
  redis.call('ZREM', KEYS[12], old[2] .. '\0' .. id)
  redis.call('ZADD', KEYS[12], 0, status .. '\0' .. id)
end
return apply()
""",
    durable=True,
)
"""Replace a record at the expected version, with its effects. Answers as `CREATE`, or `lost`, or `gone`."""

LOAD_STEP = Script(r"""
local record = redis.call('HGET', KEYS[1], 'r')
return {record, redis.call('HEXISTS', KEYS[2], ARGV[1]), redis.call('EXISTS', KEYS[3], KEYS[4])}
""")
"""Record, whether the event id was processed, and whether something waits in the partition. O(1)."""

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
  found[#found + 1] = cmsgpack.unpack(redis.call('HGET', KEYS[1], id))[3]
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

_FORGET_OWNERS = _QUEUES + r"""
local function forget(outbox, outbox_order, spawns, spawns_order, owners)
  for _, id in ipairs(ARGV) do
    for _, owned in ipairs(redis.call('ZRANGEBYLEX', owners, '[' .. id .. '\0', '(' .. id .. '\1')) do
      local mark, entry = owned:sub(#id + 2, #id + 2), owned:sub(#id + 3)
      if mark == 'm' then drop(outbox, outbox_order, owners, mark, entry)
      else drop(spawns, spawns_order, owners, mark, entry) end
    end
  end
end
"""

FORGET = Script(_FORGET_OWNERS + r"""
forget(unpack(KEYS))
""")
"""Drop what waits from or for executions that live in other partitions. O(log waiting) each."""

PURGE = Script(_FORGET_OWNERS + r"""
forget(unpack(KEYS, 1, 5))
local due, status, ids, roots = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
for number, id in ipairs(ARGV) do
  local at = 10 + (number - 1) * 5
  local record, timers, seen, numbers, trace = unpack(KEYS, at, at + 4)
  for _, armed in ipairs(redis.call('HVALS', timers)) do redis.call('ZREM', due, armed:match('^%S+ (.*)$')) end
  local its_status = redis.call('HGET', record, 's')
  if its_status then redis.call('ZREM', status, its_status .. '\0' .. id) end
  redis.call('ZREM', ids, id)
  redis.call('ZREM', roots, id)
  redis.call('DEL', record, timers, seen, numbers, trace)
end
""")
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
