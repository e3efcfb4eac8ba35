import { SLOT_SCRIPT } from "./slot-script.ts";

/** A lease that is not refreshed ends after this time. */
export const LEASE_SECONDS = 15;

/** Longest silence after which a slot is still known to be complete. */
export const MARK_SECONDS = 3_600;

/** How long a plain scope is kept: the window, and a clock that steps back by as much. */
export const USAGE_SECONDS = 130;

/*
 * ARGV: time, lease id, tokens, prompt tokens, completion tokens, the limits as JSON (see
 * `claim-spec.ts`), then how many leases each of the scopes of departed calls may hold, whose
 * keys follow those of the claim. Answers {1, second, remaining requests, remaining tokens, queue
 * ms, turns…}, {0, scope, reason, retry-after, used, asked} (the last two where something is
 * counted) or {2}: the slot must be rebuilt first. The first limit that refuses is named, with the
 * longest wait of all that do.
 */
const CLAIM = `
local mark = readMark(KEYS[1])
if not mark then return { 2 } end
local second, us = slotTime(ARGV[1], mark)
local spec = cjson.decode(ARGV[6])
if second ~= mark.second or mark.stepped then
  if mark.run ~= runId() then return { 2 } end
  mark.second = second
  writeMark(KEYS[1], mark, spec[1])
end

local tokens, prompt, completion = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])

local function secondsUntilLeft(ring, quantity, amount)
  local newest, names, left = ring.head[1], {}, 0
  for i = 1, 60 do names[i] = ring.length .. ':' .. (newest - 61 + i) end
  for i, blob in ipairs(redis.call('HMGET', ring.key, unpack(names))) do
    if blob then left = left + cmsgpack.unpack(blob)[quantity] end
    if left >= amount then return (newest + i) * ring.length - second end
  end
  return (newest + 61) * ring.length - second
end

local refused
local function refuse(scope, reason, seconds, used, asked)
  refused = refused or { 0, scope, reason, 1, used, asked }
  refused[4] = math.max(refused[4], math.ceil(seconds))
end

local function heldIn(leases, concurrent, moved)
  local held = redis.call('ZCARD', leases)
  if held > 0 and (moved or (concurrent >= 0 and held >= concurrent)) then
    redis.call('ZREMRANGEBYSCORE', leases, '-inf', second)
    held = redis.call('ZCARD', leases)
  end
  return held
end

local plans = {}
for i = 2, #spec do
  local counts, rps, rpm, tpm, concurrent, interval, waitMax, windows = unpack(spec[i])
  local usage, leases = KEYS[2 * i - 2], KEYS[2 * i - 1]
  local amounts = { counts, tokens, prompt, completion }
  local ring = ringAt(usage, 1, second)
  local rings, h = { [1] = ring }, ring.head
  if h[11] > us then refuse(i - 2, 0, (h[11] - us) / 1000000) end
  if counts == 1 then
    if rps >= 0 and h[2] >= rps then refuse(i - 2, 1, 1, h[2], 1) end
    if rpm >= 0 and h[6] >= rpm then
      refuse(i - 2, 2, secondsUntilLeft(ring, 1, h[6] + 1 - rpm), h[6], 1)
    end
  end
  if tpm >= 0 and h[7] + tokens > tpm then
    refuse(i - 2, 3, secondsUntilLeft(ring, 2, h[7] + tokens - tpm), h[7], tokens)
  end
  for w = 1, #windows, 3 do
    local length, q, limit = windows[w], windows[w + 1], windows[w + 2]
    local long = rings[length] or ringAt(usage, length, second)
    rings[length] = long
    local over = long.head[5 + q] + amounts[q] - limit
    if over > 0 and (q > 1 or counts == 1) then
      local wait = secondsUntilLeft(long, q, over)
      refuse(i - 2, 6 + (w - 1) / 3, wait, long.head[5 + q], amounts[q])
    end
  end
  local held = heldIn(leases, concurrent, ring.moved)
  if concurrent >= 0 and held >= concurrent then refuse(i - 2, 4, 1, held, 1) end
  local wait = 0
  if interval > 0 and counts == 1 then
    wait = math.max(0, h[10] - us)
    if wait > waitMax then refuse(i - 2, 5, (wait - waitMax) / 1000000) end
  end
  plans[#plans + 1] = { rings, amounts, wait, held }
end
if refused then return refused end

for n = 7, #ARGV do
  local most = tonumber(ARGV[n])
  local held = heldIn(KEYS[2 * (#spec + n - 7) + 1], most, false)
  if held >= most then return { 0, #spec + n - 8, 4, 1, held, 1 } end
end

local requestsLeft, tokensLeft, queue, turns = -1, -1, 0, {}
for n, plan in ipairs(plans) do
  local counts, _, rpm, tpm, _, interval, _, _, keep = unpack(spec[n + 1])
  local usage, leases = KEYS[2 * n], KEYS[2 * n + 1]
  local rings, amounts, wait, held = unpack(plan)
  local h, moved = rings[1].head, rings[1].moved
  if interval > 0 and counts == 1 then
    queue = math.max(queue, wait)
    turns[#turns + 1] = us + wait
    h[10] = us + wait + interval
    if wait + interval > 60000000 then
      keep = math.max(keep, math.ceil((wait + interval) / 1000000) + 1)
      moved = true
    end
  end
  for _, ring in pairs(rings) do
    for q = 1, 4 do
      ring.head[1 + q] = ring.head[1 + q] + amounts[q]
      ring.head[5 + q] = ring.head[5 + q] + amounts[q]
    end
    saveRing(ring)
  end
  redis.call('ZADD', leases, second + ${LEASE_SECONDS}, ARGV[2])
  if moved then keepFor(usage, keep) end
  if moved or held == 0 then redis.call('EXPIRE', leases, 60) end
  if counts == 1 and rpm >= 0 and (requestsLeft < 0 or rpm - h[6] < requestsLeft) then
    requestsLeft = rpm - h[6]
  end
  if tpm >= 0 and (tokensLeft < 0 or tpm - h[7] < tokensLeft) then tokensLeft = tpm - h[7] end
end
return { 1, second, requestsLeft, tokensLeft, math.ceil(queue / 1000), unpack(turns) }
`;

/*
 * ARGV: time, then one of
 *   end, lease id, second of the claim, changes of the four amounts, the limits, released pace
 *   slots…; behind the keys of the claim are those where a departed one is held
 *   refresh, lease ids…
 *   depart, lease id; all keys are those of what it leaves
 *   cool, microseconds
 */
const HAND_BACK = `
local function correct(ring, bucket, changes)
  local h, changed = ring.head, false
  local age = h[1] - bucket
  if age < 0 or age > 60 then return end
  local name = ring.length .. ':' .. bucket
  local blob = age > 0 and redis.call('HGET', ring.key, name)
  local amounts = blob and cmsgpack.unpack(blob) or { 0, 0, 0, 0 }
  if age == 0 then amounts = { h[2], h[3], h[4], h[5] } end
  local rest = 0
  for q = 1, 4 do
    local after = math.max(0, amounts[q] + changes[q])
    h[5 + q] = h[5 + q] + after - amounts[q]
    amounts[q] = after
    rest = rest + after
  end
  if age == 0 then
    h[2], h[3], h[4], h[5] = unpack(amounts)
    saveRing(ring)
  elseif rest > 0 then
    redis.call('HSET', ring.key, ring.length, cmsgpack.pack(h), name, cmsgpack.pack(amounts))
  else
    saveRing(ring)
    redis.call('HDEL', ring.key, name)
  end
end

local function leave()
  for k = 3, #KEYS, 2 do redis.call('ZREM', KEYS[k], ARGV[3]) end
end

local function finish()
  leave()
  local second = tonumber(ARGV[4])
  local requests, tokens = tonumber(ARGV[5]), tonumber(ARGV[6])
  local prompt, completion = tonumber(ARGV[7]), tonumber(ARGV[8])
  local spec, turn = cjson.decode(ARGV[9]), 10
  local changes = requests ~= 0 or tokens ~= 0 or prompt ~= 0 or completion ~= 0
  for i = 2, #spec do
    local counts, _, _, _, _, interval, _, windows = unpack(spec[i])
    local usage = KEYS[2 * i - 2]
    local lengths = changes and { [1] = true } or {}
    for w = 1, changes and #windows or 0, 3 do lengths[windows[w]] = true end
    for length in pairs(lengths) do
      local ring = readRing(usage, length)
      if ring.head then
        local by = { requests * counts, tokens, prompt, completion }
        correct(ring, math.floor(second / length), by)
      end
    end
    if interval > 0 and counts == 1 and ARGV[turn] then
      local ring = readRing(usage, 1)
      if ring.head and ring.head[10] == tonumber(ARGV[turn]) + interval then
        ring.head[10] = tonumber(ARGV[turn])
        saveRing(ring)
      end
      turn = turn + 1
    end
  end
end

local function refresh(second)
  for k = 3, #KEYS, 2 do
    local members = {}
    for i = 3, #ARGV do
      members[#members + 1] = second + ${LEASE_SECONDS}
      members[#members + 1] = ARGV[i]
    end
    redis.call('ZADD', KEYS[k], unpack(members))
    redis.call('EXPIRE', KEYS[k], 60)
  end
end

if ARGV[2] == 'end' then
  finish()
  return 1
elseif ARGV[2] == 'depart' then
  leave()
  return 1
end
local second, us = slotTime(ARGV[1], readMark(KEYS[1]) or { second = 0, shift = 0 })
if ARGV[2] == 'refresh' then
  refresh(second)
else
  local ring = readRing(KEYS[2], 1)
  ring.head = ring.head or newHead(second)
  ring.head[11] = math.max(ring.head[11], us + tonumber(ARGV[3]))
  saveRing(ring)
  keepFor(KEYS[2], ${USAGE_SECONDS} + math.ceil((ring.head[11] - us) / 1000000))
end
return 1
`;

/*
 * KEYS: the marker, then a usage hash each. ARGV: time, rows as JSON: [key, age, the four amounts].
 * Answers 1, or 0 when another has rebuilt the slot before. A bucket becomes the larger of what it
 * holds and what the journal says, so that what was not lost counts once.
 */
const REBUILD = `
local mark, run = readMark(KEYS[1]), runId()
if mark and mark.run == run then return 0 end
mark = mark or { second = 0, shift = 0 }
local second = slotTime(ARGV[1], mark)
mark.second, mark.run = second, run
local rings = {}
local function raise(ring, row)
  local h, age = ring.head, row[2]
  local name = '1:' .. (second - age)
  local blob = age > 0 and redis.call('HGET', ring.key, name)
  local amounts = blob and cmsgpack.unpack(blob) or { 0, 0, 0, 0 }
  if age == 0 then amounts = { h[2], h[3], h[4], h[5] } end
  local sum = 0
  for q = 1, 4 do
    local more = math.max(0, row[2 + q] - amounts[q])
    amounts[q] = amounts[q] + more
    h[5 + q] = h[5 + q] + more
    sum = sum + amounts[q]
  end
  if age == 0 then
    h[2], h[3], h[4], h[5] = unpack(amounts)
  elseif sum > 0 then
    redis.call('HSET', ring.key, name, cmsgpack.pack(amounts))
  end
end

for _, row in ipairs(cjson.decode(ARGV[2])) do
  local key = KEYS[row[1] + 2]
  rings[key] = rings[key] or ringAt(key, 1, second)
  if row[2] <= 60 then raise(rings[key], row) end
end
for key, ring in pairs(rings) do
  saveRing(ring)
  keepFor(key, ${USAGE_SECONDS})
end
writeMark(KEYS[1], mark, ${MARK_SECONDS})
return 1
`;

/*
 * ARGV: time. Answers requests, tokens and leases of each scope; a slot that is lost or new counts
 * as nothing. It only reads: a replica answers it too.
 */
const PEEK = `
local second = slotTime(ARGV[1], readMark(KEYS[1]) or { second = 0, shift = 0 })

local function counted(key)
  local h = readRing(key, 1).head
  local steps = h and second - h[1] or 61
  if steps > 60 then return 0, 0 end
  local requests, tokens, names = h[6], h[7], {}
  for b = h[1] - 60, second - 61 do names[#names + 1] = '1:' .. b end
  for _, blob in ipairs(#names > 0 and redis.call('HMGET', key, unpack(names)) or {}) do
    local left = blob and cmsgpack.unpack(blob) or { 0, 0 }
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

export type LimitScript = "claimLimits" | "handBackLimits" | "rebuildLimits" | "peekLimits";

export const limitScripts: Readonly<Record<LimitScript, { readonly lua: string }>> = {
  claimLimits: { lua: SLOT_SCRIPT + CLAIM },
  handBackLimits: { lua: SLOT_SCRIPT + HAND_BACK },
  rebuildLimits: { lua: SLOT_SCRIPT + REBUILD },
  peekLimits: { lua: SLOT_SCRIPT + PEEK },
};
