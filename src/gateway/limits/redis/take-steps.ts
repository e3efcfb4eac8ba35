/** A lease that is not refreshed expires after this time. */
const LEASE_SECONDS = 15;

/**
 * The least seconds for which a slot's marker (see `limit-scripts.ts`) is stored after the slot's
 * last claim; a slot without a marker is rebuilt from the journal.
 */
export const MARK_SECONDS = 3_600;

/** Seconds to keep usage without declared windows: over 120, in case the clock steps back. */
export const USAGE_SECONDS = 130;

/*
 * Takes claims and changes of one slot. ARGV: time, then JSON: [specs, steps]. A spec is [limits
 * (see `claim-spec.ts`), the place of each scope's usage among KEYS; its leases follow it]. The
 * steps are taken in their order. Each is one of
 * - 1 claim: spec, spec of departed calls or 0, lease id, tokens, prompt tokens, completion tokens
 * - 2 end: spec, spec where the lease is held, lease id, second of the claim, changes of
 *   requests, tokens, prompt tokens and completion tokens, released pace slots…
 * - 3 depart: spec, spec of departed calls, lease id
 * - 4 refresh: spec, lease ids…
 * - 5 cool: place of a usage, microseconds
 *
 * Answers the claims, in their order, each by one of
 * - {1, second, remaining requests, remaining tokens, queue ms, turns…}: granted
 * - {0, scope, reason, retry-after, used, asked}: refused. Names the first limit that refuses, with
 *   the longest wait of all that do; `used` and `asked` only where something is counted
 * - {2}: the slot must be rebuilt first
 *
 * Ended leases are removed before anything is written that needs memory. A server without memory
 * then refuses calls that only claim, and still accepts the end of every lease.
 */
export const TAKE_STEPS: string = `
local call = cjson.decode(ARGV[2])
local specs, steps = call[1], call[2]
local mark = readMark(KEYS[1])
local second, us = slotTime(ARGV[1], mark or { second = 0, shift = 0 })
local isChecked, markKeep = false, nil

local function isComplete(keep)
  if mark and not isChecked and (second ~= mark.second or mark.stepped) then
    if mark.run == runId() then
      mark.second, markKeep = second, keep
    else
      mark = nil
    end
  end
  isChecked = true
  return mark
end

local lots = {}

local function lotAt(key)
  local lot = lots[key]
  if not lot then
    lot = { key = key, added = {}, adding = 0, left = {} }
    lots[key] = lot
  end
  return lot
end

local function addLease(lot, id)
  if not lot.added[id] then lot.adding = lot.adding + 1 end
  lot.added[id] = true
  lot.left[id] = nil
  if lot.held then lot.held = lot.held + 1 end
end

local function removeLease(lot, id)
  lot.left[id] = true
  lot.isCounted = false
  if lot.added[id] then
    lot.added[id] = nil
    lot.adding = lot.adding - 1
  end
end

local function removeLeft(lot)
  local ids = {}
  for id in pairs(lot.left) do ids[#ids + 1] = id end
  if #ids > 0 then
    redis.call('ZREM', lot.key, unpack(ids))
    lot.left, lot.isCut = {}, true
  end
end

-- Expired leases are not counted once the lot is swept; they are removed with the last writes,
-- because Redis admits every write of a script that has made one.
local function storedIn(lot)
  if lot.isSwept then return redis.call('ZCOUNT', lot.key, '(' .. second, '+inf') end
  return redis.call('ZCARD', lot.key)
end

local function saveLot(lot)
  removeLeft(lot)
  if lot.isSwept then redis.call('ZREMRANGEBYSCORE', lot.key, '-inf', second) end
  if lot.adding > 0 then
    local members = {}
    for id in pairs(lot.added) do
      members[#members + 1] = second + ${LEASE_SECONDS}
      members[#members + 1] = id
    end
    redis.call('ZADD', lot.key, unpack(members))
    lot.added, lot.adding = {}, 0
    -- The set was deleted, with its expiry, if the last of the older leases was removed.
    if lot.isCut then lot.isKept = true end
  end
  if lot.isKept then redis.call('EXPIRE', lot.key, 60) end
end

local function count(lot)
  -- What is refreshed may be there: it is counted once.
  if lot.isRefreshed then saveLot(lot) end
  removeLeft(lot)
  lot.held, lot.isCounted = storedIn(lot) + lot.adding, true
end

-- Ended leases are subtracted only when the number without them would be too high.
local function heldIn(lot, concurrent, moved)
  local function isFull() return concurrent >= 0 and lot.held >= concurrent end
  if not lot.held or (not lot.isCounted and isFull()) then count(lot) end
  if lot.held > 0 and not lot.isSwept and (moved or isFull()) then
    lot.isSwept = true
    count(lot)
  end
  return lot.held
end

local function scopesOf(spec)
  if spec.scopes then return spec.scopes end
  spec.scopes = {}
  for n, place in ipairs(spec[2]) do
    local row = spec[1][n + 1]
    local scope = { key = KEYS[place], lot = lotAt(KEYS[place + 1]), lengths = { 1 } }
    scope.rps, scope.rpm, scope.tpm, scope.concurrent = unpack(row, 1, 4)
    scope.interval, scope.waitMax, scope.windows, scope.keep = unpack(row, 5, 8)
    scope.requests, scope.tokens = scope.rpm == -2 and 0 or 1, scope.tpm == -2 and 0 or 1
    scope.hasPlace = scope.concurrent ~= -2
    local isListed = { [1] = true }
    for w = 1, #scope.windows, 3 do
      local length = scope.windows[w]
      if not isListed[length] then scope.lengths[#scope.lengths + 1] = length end
      isListed[length] = true
    end
    spec.scopes[n] = scope
  end
  return spec.scopes
end

local function ringsOf(scope)
  local rings = scope.all
  if not rings then
    rings = {}
    for n, length in ipairs(scope.lengths) do rings[n] = readRing(scope.key, length) end
    scope.all = rings
  end
  return rings
end

local function secondsUntilLeft(ring, quantity, amount)
  local newest, left = ring.head[1], 0
  loadBuckets(ring, newest - 60, newest - 1)
  for i = 1, 60 do
    local bucket = ring.buckets[newest - 61 + i]
    if bucket then left = left + bucket[quantity] end
    if left >= amount then return (newest + i) * ring.length - second end
  end
  return (newest + 61) * ring.length - second
end

local refused
local function refuse(scope, reason, seconds, used, asked)
  refused = refused or { 0, scope, reason, 1, used, asked }
  refused[4] = math.max(refused[4], math.ceil(seconds))
end

local function checkScope(at, scope, amounts)
  local ring = scope.rings[1]
  local h = ring.head
  if h[11] > us then refuse(at, 0, (h[11] - us) / 1000000) end
  local rps, rpm, tpm, windows = scope.rps, scope.rpm, scope.tpm, scope.windows
  if rps >= 0 and h[2] >= rps then refuse(at, 1, 1, h[2], 1) end
  if rpm >= 0 and h[6] >= rpm then
    refuse(at, 2, secondsUntilLeft(ring, 1, h[6] + 1 - rpm), h[6], 1)
  end
  if tpm >= 0 and h[7] + amounts[2] > tpm then
    refuse(at, 3, secondsUntilLeft(ring, 2, h[7] + amounts[2] - tpm), h[7], amounts[2])
  end
  for w = 1, #windows, 3 do
    local long, q, limit = scope.rings[windows[w]], windows[w + 1], windows[w + 2]
    local amount = amounts[q]
    local over = long.head[5 + q] + amount - limit
    if over > 0 then
      local wait = secondsUntilLeft(long, q, over)
      refuse(at, 6 + (w - 1) / 3, wait, long.head[5 + q], amount)
    end
  end
  scope.held = heldIn(scope.lot, scope.concurrent, ring.moved)
  if scope.concurrent >= 0 and scope.held >= scope.concurrent then
    refuse(at, 4, 1, scope.held, 1)
  end
  scope.wait = 0
  if scope.interval > 0 then
    scope.wait = math.max(0, h[10] - us)
    if scope.wait > scope.waitMax then
      refuse(at, 5, (scope.wait - scope.waitMax) / 1000000)
    end
  end
end

local function claim(step)
  local spec = specs[step[2]]
  if not isComplete(spec[1][1]) then return { 2 } end
  local scopes, id = scopesOf(spec), step[4]
  local amounts = { 1, step[5], step[6], step[7] }
  refused = nil
  for n, scope in ipairs(scopes) do
    if not scope.rings then
      scope.rings = {}
      for _, length in ipairs(scope.lengths) do
        scope.rings[length] = ringAt(scope.key, length, second)
      end
    end
    checkScope(n - 1, scope, amounts)
  end
  if refused then return refused end

  for n, scope in ipairs(step[3] > 0 and scopesOf(specs[step[3]]) or {}) do
    local most = math.max(0, scope.concurrent)
    local held = heldIn(scope.lot, most, false)
    if held >= most then return { 0, #scopes + n - 1, 4, 1, held, 1 } end
  end

  local requestsLeft, tokensLeft, queue, turns = -1, -1, 0, {}
  for _, scope in ipairs(scopes) do
    local ring, keep = scope.rings[1], scope.keep
    local h, lot, rpm, tpm = ring.head, scope.lot, scope.rpm, scope.tpm
    local moved = ring.moved
    if scope.interval > 0 then
      local free = scope.wait + scope.interval
      queue = math.max(queue, scope.wait)
      turns[#turns + 1] = us + scope.wait
      h[10] = us + free
      if free > 60000000 then
        keep = math.max(keep, math.ceil(free / 1000000) + 1)
        moved = true
      end
    end
    local all, requests, tokens = ringsOf(scope), scope.requests, scope.tokens * step[5]
    local prompt, completion = scope.tokens * step[6], scope.tokens * step[7]
    for n = 1, #all do
      local head = all[n].head
      head[2], head[3], head[4] = head[2] + requests, head[3] + tokens, head[4] + prompt
      head[5], head[6], head[7] = head[5] + completion, head[6] + requests, head[7] + tokens
      head[8], head[9] = head[8] + prompt, head[9] + completion
      all[n].isChanged = true
    end
    if moved then
      local usage = usageAt(scope.key)
      usage.keep = math.max(usage.keep, keep)
      -- Even without a place, because later claims of this second do not find the ring moved.
      lot.isKept = true
    end
    if scope.hasPlace then
      addLease(lot, id)
      if scope.held == 0 then lot.isKept = true end
    end
    if rpm >= 0 and (requestsLeft < 0 or rpm - h[6] < requestsLeft) then
      requestsLeft = rpm - h[6]
    end
    if tpm >= 0 and (tokensLeft < 0 or tpm - h[7] < tokensLeft) then tokensLeft = tpm - h[7] end
  end
  return { 1, second, requestsLeft, tokensLeft, math.ceil(queue / 1000), unpack(turns) }
end

local function correct(ring, bucket, changes)
  local h = ring.head
  local age = h[1] - bucket
  if age < 0 or age > 60 then return end
  local amounts, from = amountsAt(ring, bucket)
  for q = 1, 4 do
    local before = amounts[from + q]
    local after = math.max(0, before + changes[q])
    h[5 + q] = h[5 + q] + after - before
    amounts[from + q] = after
  end
  ring.isChanged = true
end

local function leave(scopes, id)
  for _, scope in ipairs(scopes) do
    if scope.hasPlace then removeLease(scope.lot, id) end
  end
end

local function finish(step)
  local scopes, id, at, requests = scopesOf(specs[step[2]]), step[4], step[5], step[6]
  leave(scopes, id)
  if step[3] ~= step[2] then leave(scopesOf(specs[step[3]]), id) end
  local changes, turn = { 0, 0, 0, 0 }, 10
  for _, scope in ipairs(scopes) do
    changes[1], changes[2] = scope.requests * requests, scope.tokens * step[7]
    changes[3], changes[4] = scope.tokens * step[8], scope.tokens * step[9]
    local isChange = changes[1] ~= 0 or changes[2] ~= 0 or changes[3] ~= 0 or changes[4] ~= 0
    local rings = ringsOf(scope)
    for n = 1, isChange and #rings or 0 do
      local ring = rings[n]
      if ring.head then correct(ring, math.floor(at / ring.length), changes) end
    end
    if scope.interval > 0 and step[turn] then
      local ring = rings[1]
      if ring.head and ring.head[10] == step[turn] + scope.interval then
        ring.head[10], ring.isChanged = step[turn], true
      end
      turn = turn + 1
    end
  end
end

local function hold(scopes, ids, from)
  for _, scope in ipairs(scopes) do
    local lot = scope.lot
    if scope.hasPlace then
      for n = from, #ids do addLease(lot, ids[n]) end
      lot.isKept, lot.isRefreshed, lot.held = true, true, nil
    end
  end
end

local function cool(step)
  local key = KEYS[step[2]]
  local ring = readRing(key, 1)
  ring.head = ring.head or newHead(second)
  ring.head[11], ring.isChanged = math.max(ring.head[11], us + step[3]), true
  local usage = usageAt(key)
  usage.keep = math.max(usage.keep, ${USAGE_SECONDS} + math.ceil((ring.head[11] - us) / 1000000))
end

local answers = {}
for _, step in ipairs(steps) do
  local kind = step[1]
  if kind == 1 then
    answers[#answers + 1] = claim(step)
  elseif kind == 2 then
    finish(step)
  elseif kind == 3 then
    leave(scopesOf(specs[step[2]]), step[4])
    hold(scopesOf(specs[step[3]]), step, 4)
  elseif kind == 4 then
    hold(scopesOf(specs[step[2]]), step, 3)
  else
    cool(step)
  end
end
for _, lot in pairs(lots) do removeLeft(lot) end
if markKeep then writeMark(KEYS[1], mark, markKeep) end
saveRings()
for _, lot in pairs(lots) do saveLot(lot) end
return answers
`;
