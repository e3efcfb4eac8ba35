/** No cooldown is longer: no circuit cools so long, and no pool. */
export const COOLDOWN_MS_MAX = 75_000;

/** So many cooldowns are kept; those that end first are dropped. */
const COOLDOWNS_MAX = 1_000;

/*
 * KEYS: one sorted set, "<instance> <kind> <id>" by the millisecond in which the rest ends. ARGV[1] is
 * the time in microseconds for tests, else empty. A cooldown that would end later than any may was
 * written before the server's clock stepped back: it is not believed.
 */
const COMMON = `
local function serverMs()
  local us = tonumber(ARGV[1])
  if us then return math.floor(us / 1000) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/* ARGV: time, member, milliseconds. */
const PUBLISH = `
local now = serverMs()
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + ${COOLDOWN_MS_MAX} + 1, '+inf')
local ends = now + tonumber(ARGV[3])
local known = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not known or tonumber(known) < ends then redis.call('ZADD', KEYS[1], ends, ARGV[2]) end
local extra = redis.call('ZCARD', KEYS[1]) - ${COOLDOWNS_MAX}
if extra > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, extra - 1) end
redis.call('PEXPIRE', KEYS[1], ${COOLDOWN_MS_MAX})
return 1
`;

/* ARGV: time, own instance. Answers member and milliseconds from now of each rest of the others. */
const READ = `
local now, own, answer = serverMs(), ARGV[2] .. ' ', {}
local found = redis.call('ZRANGEBYSCORE', KEYS[1], now + 1, now + ${COOLDOWN_MS_MAX}, 'WITHSCORES')
for i = 1, #found, 2 do
  if string.sub(found[i], 1, #own) ~= own then
    answer[#answer + 1] = found[i]
    answer[#answer + 1] = tonumber(found[i + 1]) - now
  end
end
return answer
`;

export type HealthScript = "publishCooldown" | "readCooldowns";

export const healthScripts: Readonly<Record<HealthScript, { readonly lua: string }>> = {
  publishCooldown: { lua: COMMON + PUBLISH },
  readCooldowns: { lua: COMMON + READ },
};
