import { newRecordId, type RedisLink } from "../../kernel/index.ts";
import { COOLDOWN_MS_MAX } from "./health-scripts.ts";
import type { CooldownNotice, SharedHealth } from "./shared-health.ts";

const KEY = "tm:{health}";

export interface RedisSharedHealthOptions {
  readonly link: Pick<RedisLink, "run">;
  /** Tests only: the time in milliseconds that cooldowns end by, instead of the server's own. */
  readonly now?: () => number;
}

/**
 * Cooldowns, in one small key by the server's clock: it forgets by itself, and nothing in it is
 * needed. Each instance has a random name and ignores its own notices.
 */
export class RedisSharedHealth implements SharedHealth {
  readonly #link: Pick<RedisLink, "run">;
  readonly #now: (() => number) | undefined;
  readonly #instance: string = newRecordId("health");

  constructor(options: RedisSharedHealthOptions) {
    this.#link = options.link;
    this.#now = options.now;
  }

  publish(notice: CooldownNotice): void {
    void this.#publish(notice);
  }

  async read(): Promise<readonly CooldownNotice[]> {
    try {
      return longestOf(
        await this.#link.run("readCooldowns", [KEY], [this.#time(), this.#instance]),
      );
    } catch {
      return [];
    }
  }

  async #publish({ kind, id, forMs }: CooldownNotice): Promise<void> {
    const cooldownMs = Math.min(Math.ceil(forMs), COOLDOWN_MS_MAX);
    if (!(cooldownMs > 0)) return;
    try {
      const member = `${this.#instance} ${kind} ${id}`;
      await this.#link.run("publishCooldown", [KEY], [this.#time(), member, cooldownMs]);
    } catch {
      // The others find out by themselves. The limit store, on the same link, reports that it is
      // down.
    }
  }

  #time(): string {
    return this.#now === undefined ? "" : String(Math.floor(this.#now() * 1000));
  }
}

/** The cooldowns of a script's answer: of several instances' notices, the longest. */
function longestOf(answer: unknown): readonly CooldownNotice[] {
  const words: readonly unknown[] = Array.isArray(answer) ? answer : [];
  const longest = new Map<string, CooldownNotice>();
  for (let at = 0; at + 1 < words.length; at += 2) {
    const rest = noticeOf(words[at], words[at + 1]);
    if (rest === undefined) continue;
    const name = `${rest.kind} ${rest.id}`;
    if (rest.forMs > (longest.get(name)?.forMs ?? 0)) longest.set(name, rest);
  }
  return [...longest.values()];
}

function noticeOf(member: unknown, forMs: unknown): CooldownNotice | undefined {
  const [, kind, id] = /^\S+ (circuit|pool) (.+)$/s.exec(String(member)) ?? [];
  if ((kind !== "circuit" && kind !== "pool") || id === undefined) return undefined;
  return typeof forMs === "number" ? { kind, id, forMs } : undefined;
}
