import type { Clock, RedisLink } from "../../../kernel/index.ts";
import type { LimitStoreCounts } from "../limit-store-counts.ts";

/** The purpose of each script; scripts without an entry only share the connection. */
const OPS: Readonly<Record<string, "claim" | "peek" | "change" | "rebuild">> = {
  claimLimits: "claim",
  peekLimits: "peek",
  handBackLimits: "change",
  rebuildLimits: "rebuild",
};

/** Runs scripts on a connection, and notes how long each took and whether it was answered. */
export function measuredLink(
  link: Pick<RedisLink, "run">,
  counts: LimitStoreCounts,
  clock: Clock,
): Pick<RedisLink, "run"> {
  return {
    run: (script, keys, args) => {
      const op = OPS[script] ?? "health";
      const startedMs = clock.monotonicMs();
      const asked = link.run(script, keys, args);
      const note = (isAnswered: boolean): void =>
        counts.note({ op, isAnswered, seconds: (clock.monotonicMs() - startedMs) / 1000 });
      asked.then(
        () => note(true),
        () => note(false),
      );
      return asked;
    },
  };
}
