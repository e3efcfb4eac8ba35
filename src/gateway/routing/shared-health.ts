import { asNumber, type Clock, createRecordId, type RedisLink } from "../../kernel/index.ts";

export interface CooldownListener {
  /** Called when the circuit or pool `id` cools down for `forMs` from `nowMs`, a monotonic time. */
  learn(id: string, forMs: number, nowMs: number): void;
}

type Learners = Readonly<Record<CooldownNotice["kind"], CooldownListener>>;

/** Time between two polls. */
const EVERY_MS = 1_000;
/** A poll without an answer is abandoned after this time. */
const ANSWER_WITHIN_MS = 5_000;

/** Publishes this instance's cooldowns, and polls those of other instances. */
export class HealthExchange {
  /** Undefined if there are no other instances. */
  readonly #shared: SharedHealth | undefined;
  readonly #clock: Clock;
  #timer: NodeJS.Timeout | undefined;
  #poll: { readonly askedMs: number } | undefined;

  constructor(ports: { readonly shared: SharedHealth | undefined; readonly clock: Clock }) {
    this.#shared = ports.shared;
    this.#clock = ports.clock;
  }

  publish(notice: CooldownNotice): void {
    this.#shared?.publish(notice);
  }

  listen(learners: Learners): void {
    const shared = this.#shared;
    if (shared === undefined || this.#timer !== undefined) return;
    this.#timer = setInterval(() => void this.#receive(shared, learners), EVERY_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#poll = undefined;
  }

  async #receive(shared: SharedHealth, learners: Learners): Promise<void> {
    const askedMs = this.#clock.monotonicMs();
    if (this.#poll !== undefined && askedMs - this.#poll.askedMs < ANSWER_WITHIN_MS) return;
    const poll = { askedMs };
    this.#poll = poll;
    const notices = await shared.read().catch(() => []);
    // The answer is too late: the poll was abandoned meanwhile, or the exchange was closed.
    if (this.#poll !== poll) return;
    this.#poll = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (const { kind, id, forMs } of notices) {
      // Counted from the start of the poll, so that a slow answer does not prolong a cooldown.
      const leftMs = forMs - (nowMs - askedMs);
      if (leftMs > 0) learners[kind].learn(id, leftMs, nowMs);
    }
  }
}

/** The cooldown of a circuit that opened, or of a pool after a 429. */
export interface CooldownNotice {
  readonly kind: "circuit" | "pool";
  readonly id: string;
  readonly forMs: number;
}

/** Shares cooldowns among instances. Without it each instance detects failures alone. */
export interface SharedHealth {
  /** Never throws; callers do not wait for the result. */
  publish(notice: CooldownNotice): void;
  /** Returns the running cooldowns of other instances; empty if the store does not answer. */
  read(): Promise<readonly CooldownNotice[]>;
}

const KEY = "tm:{health}";

/**
 * Keeps cooldowns in one small Redis key, by the server's clock. They expire, and may be lost
 * without harm. Each instance has a random name and ignores its own notices.
 */
export class RedisSharedHealth implements SharedHealth {
  readonly #link: Pick<RedisLink, "run">;
  readonly #now: (() => number) | undefined;
  readonly #instance: string = createRecordId("health");

  /** `now` replaces the clock of the Redis server in tests; in milliseconds. */
  constructor(options: { readonly link: Pick<RedisLink, "run">; readonly now?: () => number }) {
    this.#link = options.link;
    this.#now = options.now;
  }

  publish(notice: CooldownNotice): void {
    void this.#publish(notice);
  }

  async #publish({ kind, id, forMs }: CooldownNotice): Promise<void> {
    const cooldownMs = Math.min(Math.ceil(forMs), COOLDOWN_MS_MAX);
    if (!(cooldownMs > 0)) return;
    try {
      const member = `${this.#instance} ${kind} ${id}`;
      await this.#link.run("publishCooldown", [KEY], [this.#time(), member, cooldownMs]);
    } catch {
      // The others detect failures too, and the limit store on the same link reports the fault.
    }
  }

  async read(): Promise<readonly CooldownNotice[]> {
    try {
      const args = [this.#time(), this.#instance];
      return keepLongest(await this.#link.run("readCooldowns", [KEY], args));
    } catch {
      return [];
    }
  }

  #time(): string {
    return this.#now === undefined ? "" : String(Math.floor(this.#now() * 1000));
  }
}

/** Several instances may cool the same circuit or pool: the longest cooldown is kept. */
function keepLongest(answer: unknown): readonly CooldownNotice[] {
  const words: readonly unknown[] = Array.isArray(answer) ? answer : [];
  const longest = new Map<string, CooldownNotice>();
  for (let at = 0; at + 1 < words.length; at += 2) {
    const rest = parseNotice(words[at], words[at + 1]);
    if (rest === undefined) continue;
    const name = `${rest.kind} ${rest.id}`;
    if (rest.forMs > (longest.get(name)?.forMs ?? 0)) longest.set(name, rest);
  }
  return [...longest.values()];
}

function parseNotice(member: unknown, forMs: unknown): CooldownNotice | undefined {
  const [, kind, id] = /^\S+ (circuit|pool) (.+)$/s.exec(String(member)) ?? [];
  if ((kind !== "circuit" && kind !== "pool") || id === undefined) return undefined;
  return { kind, id, forMs: asNumber(forMs) ?? 0 };
}

/** Longer than any cooldown of a circuit or a pool. */
const COOLDOWN_MS_MAX = 75_000;

/** The most cooldowns that are kept; those that end first are dropped. */
const COOLDOWNS_MAX = 1_000;

/**
 * The beginning of both scripts. KEYS[1]: a sorted set of "<instance> <kind> <id>" by the
 * millisecond in which each cooldown ends. ARGV[1]: the time in microseconds in tests, else empty.
 * An entry that ends later than any cooldown can was written before the server's clock stepped
 * back, and is dropped.
 */
const COMMON = `
local function serverMs()
  local us = tonumber(ARGV[1])
  if us then return math.floor(us / 1000) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
`;

/** Stores a cooldown. ARGV: time, member of the sorted set, milliseconds until the end. */
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

/**
 * Reads the cooldowns of other instances. ARGV: time, own instance. Returns the member and the
 * remaining milliseconds of each.
 */
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

export const healthScripts = {
  publishCooldown: { lua: COMMON + PUBLISH },
  readCooldowns: { lua: COMMON + READ },
} as const;
