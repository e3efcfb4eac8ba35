/**
 * What the scripts of a slot begin with. KEYS of every script: the slot's marker, then for each
 * scope its usage (a hash) and its leases (a sorted set by expiry second). ARGV[1] is the time in
 * microseconds for tests, else empty.
 *
 * The marker holds "<last second> <shift> <run id>". Its absence, or the run id of another server
 * process (restored from an old file, or promoted), means: what is here may not be all there was.
 * The shift is what the server's clock has stepped back by, so that a slot's time never does.
 *
 * A usage hash has a field per ring, named by the length of its buckets in seconds: the newest
 * bucket's number, its four amounts (requests, tokens, prompt, completion), the four totals, the
 * next free pace slot and the end of a cooldown, both in microseconds. Older buckets are fields of
 * their own, "<length>:<number>". Totals are written before buckets are deleted: a server that is
 * out of memory fails the first, and nothing has changed.
 */
export const SLOT_SCRIPT: string = `
local function readMark(key)
  local text = redis.call('GET', key)
  if not text then return nil end
  local second, shift, run = string.match(text, '^(%d+) (%d+) (.*)$')
  if not second then return nil end
  return { second = tonumber(second), shift = tonumber(shift), run = run }
end

local function writeMark(key, mark, ttl)
  local text = string.format('%.0f %.0f %s', mark.second, mark.shift, mark.run)
  redis.call('SET', key, text, 'EX', ttl)
end

local function runId()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%w+)') or 'unknown'
end

local function slotTime(given, mark)
  local us = tonumber(given)
  if not us then
    local time = redis.call('TIME')
    us = time[1] * 1000000 + time[2]
  end
  us = us + mark.shift
  local second = math.floor(us / 1000000)
  if second >= mark.second then return second, us end
  local back = (mark.second - second) * 1000000
  if back <= 61000000 then return mark.second, mark.second * 1000000 end
  mark.shift = mark.shift + back
  mark.stepped = true
  return mark.second, us + back
end

local function saveRing(ring)
  redis.call('HSET', ring.key, ring.length, cmsgpack.pack(ring.head))
end

local function newHead(bucket)
  return { bucket, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
end

local function readRing(key, length)
  local blob = redis.call('HGET', key, length)
  return { key = key, length = length, head = blob and cmsgpack.unpack(blob) }
end

local function advance(ring, bucket)
  local h, prefix = ring.head, ring.length .. ':'
  local steps, newest = bucket - h[1], h[1]
  if steps <= 0 then return end
  local names, gone = {}, {}
  if h[6] ~= h[2] or h[7] ~= h[3] or h[8] ~= h[4] or h[9] ~= h[5] then
    for b = newest - 60, steps > 60 and newest - 1 or bucket - 61 do
      names[#names + 1] = prefix .. b
    end
  end
  local current = { h[2], h[3], h[4], h[5] }
  h[1], h[2], h[3], h[4], h[5] = bucket, 0, 0, 0, 0
  ring.moved = true
  if steps > 60 then
    h[6], h[7], h[8], h[9] = 0, 0, 0, 0
    gone = names
    saveRing(ring)
  else
    local found = #names > 0 and redis.call('HMGET', ring.key, unpack(names)) or {}
    for i, blob in ipairs(found) do
      if blob then
        local left = cmsgpack.unpack(blob)
        for q = 1, 4 do h[5 + q] = h[5 + q] - left[q] end
        gone[#gone + 1] = names[i]
      end
    end
    if current[1] + current[2] + current[3] + current[4] > 0 then
      redis.call('HSET', ring.key, ring.length, cmsgpack.pack(h),
        prefix .. newest, cmsgpack.pack(current))
    else
      saveRing(ring)
    end
  end
  if #gone > 0 then redis.call('HDEL', ring.key, unpack(gone)) end
end

local function ringAt(key, length, second)
  local ring = readRing(key, length)
  local bucket = math.floor(second / length)
  if ring.head then
    advance(ring, bucket)
  else
    ring.head = newHead(bucket)
    ring.moved = true
  end
  return ring
end

local function keepFor(key, seconds)
  if redis.call('TTL', key) < seconds then redis.call('EXPIRE', key, seconds) end
end
`;
