import { MARK_SECONDS, TAKE_STEPS, USAGE_SECONDS } from "./take-steps.ts";

/**
 * The beginning of every script of a slot. KEYS of every script: the slot's marker, then for each
 * scope its usage (a hash) and, except in `REBUILD`, its leases (a sorted set by expiry second).
 * ARGV[1] is the time in microseconds for tests, else empty.
 *
 * The marker holds "<last second> <shift> <run id>". Its absence, or the run id of another server
 * process (started from an old file, or promoted), means that charges may have been lost. The shift
 * is added to the server's clock after it has stepped back, so that a slot's time never steps back.
 *
 * A usage hash has one field per ring of buckets, named by the bucket length in seconds. The field
 * holds the newest bucket's number and four amounts (requests, tokens, prompt, completion), the
 * totals of these amounts, the next free pace slot and the end of a cooldown, both in microseconds.
 * Each older bucket is a separate field, "<length>:<number>". A script reads each field once and
 * writes each hash once, at its end (`saveRings`), totals and buckets together: if the server is
 * out of memory, the first write fails and nothing has changed.
 */
const SLOT_SCRIPT = `
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

local usages = {}

local function usageAt(key)
  local usage = usages[key]
  if not usage then
    usage = { rings = {}, keep = 0 }
    usages[key] = usage
  end
  return usage
end

local function newHead(bucket)
  return { bucket, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
end

local function readRing(key, length)
  local rings = usageAt(key).rings
  local ring = rings[length]
  if not ring then
    local blob = redis.call('HGET', key, length)
    ring = { key = key, length = length, buckets = {}, changed = {} }
    ring.head = blob and cmsgpack.unpack(blob)
    rings[length] = ring
  end
  return ring
end

local function loadBuckets(ring, from, to)
  local buckets, names, numbers = ring.buckets, {}, {}
  for b = from, to do
    if buckets[b] == nil then
      names[#names + 1] = ring.length .. ':' .. b
      numbers[#names] = b
    end
  end
  if #names == 0 then return end
  for i, blob in ipairs(redis.call('HMGET', ring.key, unpack(names))) do
    buckets[numbers[i]] = blob and cmsgpack.unpack(blob)
  end
end

local function dropBucket(ring, bucket)
  ring.buckets[bucket] = false
  ring.changed[bucket] = true
end

local function advance(ring, bucket)
  local h, newest = ring.head, ring.head[1]
  local steps = bucket - newest
  if steps <= 0 then return end
  local hasOlder = h[6] ~= h[2] or h[7] ~= h[3] or h[8] ~= h[4] or h[9] ~= h[5]
  local current = { h[2], h[3], h[4], h[5] }
  h[1], h[2], h[3], h[4], h[5] = bucket, 0, 0, 0, 0
  ring.moved, ring.isChanged = true, true
  if steps > 60 then
    h[6], h[7], h[8], h[9] = 0, 0, 0, 0
    for b = newest - 60, hasOlder and newest - 1 or 0 do dropBucket(ring, b) end
    return
  end
  if current[1] + current[2] + current[3] + current[4] > 0 then
    ring.buckets[newest] = current
    ring.changed[newest] = true
  end
  if not hasOlder then return end
  loadBuckets(ring, newest - 60, bucket - 61)
  for b = newest - 60, bucket - 61 do
    local left = ring.buckets[b]
    if left then
      for q = 1, 4 do h[5 + q] = h[5 + q] - left[q] end
      dropBucket(ring, b)
    end
  end
end

local function ringAt(key, length, second)
  local ring = readRing(key, length)
  local bucket = math.floor(second / length)
  if ring.head then
    advance(ring, bucket)
  else
    -- A refused claim writes no empty ring. What is written later may begin a hash.
    ring.head, ring.moved = newHead(bucket), true
    local usage = usageAt(key)
    usage.keep = math.max(usage.keep, ${USAGE_SECONDS})
  end
  return ring
end

local function amountsAt(ring, bucket)
  if bucket == ring.head[1] then return ring.head, 1 end
  loadBuckets(ring, bucket, bucket)
  local amounts = ring.buckets[bucket] or { 0, 0, 0, 0 }
  ring.buckets[bucket] = amounts
  ring.changed[bucket] = true
  return amounts, 0
end

local function keepFor(key, seconds)
  if redis.call('TTL', key) < seconds then redis.call('EXPIRE', key, seconds) end
end

local function saveRings()
  for key, usage in pairs(usages) do
    local fields, gone = {}, {}
    for length, ring in pairs(usage.rings) do
      if ring.isChanged then
        fields[#fields + 1] = length
        fields[#fields + 1] = cmsgpack.pack(ring.head)
        for b in pairs(ring.changed) do
          local name, left = length .. ':' .. b, ring.buckets[b]
          if left and left[1] + left[2] + left[3] + left[4] > 0 then
            fields[#fields + 1] = name
            fields[#fields + 1] = cmsgpack.pack(left)
          else
            gone[#gone + 1] = name
          end
        end
      end
    end
    if #fields > 0 then redis.call('HSET', key, unpack(fields)) end
    if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
    if usage.keep > 0 then keepFor(key, usage.keep) end
  end
end
`;

/*
 * Refills a slot from the journal. KEYS: the slot's marker, then the usage hash of each scope.
 * ARGV: time, then rows as JSON: [index of the usage hash, age in seconds, requests, tokens, prompt
 * tokens, completion tokens]. Answers 1, or 0 if another process has rebuilt the slot already. Each
 * amount of a bucket becomes the larger of the stored one and the journal's, so that charges that
 * were not lost count once.
 */
const REBUILD = `
local mark, run = readMark(KEYS[1]), runId()
if mark and mark.run == run then return 0 end
mark = mark or { second = 0, shift = 0 }
local second = slotTime(ARGV[1], mark)
mark.second, mark.run = second, run
for _, row in ipairs(cjson.decode(ARGV[2])) do
  local key, age = KEYS[row[1] + 2], row[2]
  local ring = ringAt(key, 1, second)
  usageAt(key).keep = ${USAGE_SECONDS}
  if age <= 60 then
    local h, amounts, from = ring.head, amountsAt(ring, second - age)
    for q = 1, 4 do
      local more = math.max(0, row[2 + q] - amounts[from + q])
      amounts[from + q] = amounts[from + q] + more
      h[5 + q] = h[5 + q] + more
    end
    ring.isChanged = true
  end
end
saveRings()
writeMark(KEYS[1], mark, ${MARK_SECONDS})
return 1
`;

/*
 * Reads the use of scopes. ARGV: time. Answers the requests, tokens and leases of each scope, 0 if
 * nothing is stored. The script only reads, so that a replica can run it too.
 */
const PEEK = `
local second = slotTime(ARGV[1], readMark(KEYS[1]) or { second = 0, shift = 0 })

local function counted(key)
  local ring = readRing(key, 1)
  local h = ring.head
  local steps = h and second - h[1] or 61
  if steps > 60 then return 0, 0 end
  local requests, tokens = h[6], h[7]
  loadBuckets(ring, h[1] - 60, second - 61)
  for b = h[1] - 60, second - 61 do
    local left = ring.buckets[b] or { 0, 0 }
    requests, tokens = requests - left[1], tokens - left[2]
  end
  return requests, tokens
end

local answer = {}
for k = 2, #KEYS, 2 do
  local requests, tokens = counted(KEYS[k])
  answer[#answer + 1] = requests
  answer[#answer + 1] = tokens
  answer[#answer + 1] = redis.call('ZCOUNT', KEYS[k + 1], '(' .. second, '+inf')
end
return answer
`;

/** `claimLimits` and `handBackLimits` are one script under two names, to time claims apart. */
export type LimitScript = "claimLimits" | "handBackLimits" | "rebuildLimits" | "peekLimits";

export const limitScripts: Readonly<Record<LimitScript, { readonly lua: string }>> = {
  claimLimits: { lua: SLOT_SCRIPT + TAKE_STEPS },
  handBackLimits: { lua: SLOT_SCRIPT + TAKE_STEPS },
  rebuildLimits: { lua: SLOT_SCRIPT + REBUILD },
  peekLimits: { lua: SLOT_SCRIPT + PEEK },
};
