import { SLOT_SCRIPT } from "./slot-script.ts";
import { MARK_SECONDS, TAKE_STEPS, USAGE_SECONDS } from "./take-steps.ts";

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
 * Reads the use of scopes. ARGV: time. Answers the requests, tokens and leases of each scope; all
 * are 0 for a slot that is lost or new. The script only reads, so that a replica can answer it too.
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

/**
 * `claimLimits` and `handBackLimits` are the same script. Only calls with a claim have clients that
 * wait, so they run under the first name and are measured separately.
 */
export type LimitScript = "claimLimits" | "handBackLimits" | "rebuildLimits" | "peekLimits";

export const limitScripts: Readonly<Record<LimitScript, { readonly lua: string }>> = {
  claimLimits: { lua: SLOT_SCRIPT + TAKE_STEPS },
  handBackLimits: { lua: SLOT_SCRIPT + TAKE_STEPS },
  rebuildLimits: { lua: SLOT_SCRIPT + REBUILD },
  peekLimits: { lua: SLOT_SCRIPT + PEEK },
};
