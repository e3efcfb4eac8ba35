import {
  type Clock,
  type Family,
  HistogramFamily,
  oneValue,
  type RedisLink,
} from "../../kernel/index.ts";

type StoreOp = "claim" | "peek" | "change" | "rebuild" | "health";

/** Metrics of a shared limit store; a store in memory counts nothing and is always up. */
export class LimitStoreCounts {
  readonly #seconds = new HistogramFamily("tm_limit_store_seconds");
  #faults = 0;
  #isUp = true;

  note(op: StoreOp, isAnswered: boolean, seconds: number): void {
    this.#seconds.of(op).observe(seconds);
    this.#isUp = isAnswered;
    if (!isAnswered) this.#faults += 1;
  }

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

/** The label of each script. Scripts of other features on this connection get `health`. */
const OPS: Readonly<Record<string, StoreOp>> = {
  claimLimits: "claim",
  peekLimits: "peek",
  handBackLimits: "change",
  rebuildLimits: "rebuild",
};

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
        counts.note(op, isAnswered, (clock.monotonicMs() - startedMs) / 1000);
      asked.then(
        () => note(true),
        () => note(false),
      );
      return asked;
    },
  };
}
