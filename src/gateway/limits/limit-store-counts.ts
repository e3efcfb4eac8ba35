import {
  type Clock,
  type Family,
  HistogramFamily,
  oneValue,
  type RedisLink,
} from "../../kernel/index.ts";

/** Counts how a shared limit store responds; a store in memory is always up. */
export class LimitStoreCounts {
  readonly #seconds = new HistogramFamily("tm_limit_store_seconds");
  #faults = 0;
  #isUp = true;

  note(asked: {
    readonly op: "claim" | "peek" | "change" | "rebuild" | "health";
    readonly isAnswered: boolean;
    readonly seconds: number;
  }): void {
    this.#seconds.of(asked.op).observe(asked.seconds);
    this.#isUp = asked.isAnswered;
    if (!asked.isAnswered) this.#faults += 1;
  }

  /** Counts a call that was not answered in time. */
  late(): void {
    this.#isUp = false;
    this.#faults += 1;
  }

  families(): readonly Family[] {
    return [
      this.#seconds,
      oneValue("tm_limit_store_faults_total", () => this.#faults),
      oneValue("tm_limit_store_up", () => Number(this.#isUp)),
    ];
  }
}

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
