import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { receivePort, startHelper } from "./children.ts";
import { loadAverage, machineFacts, today } from "./command.ts";
import type { InnerFigures } from "./gateway-counters.ts";
import { estimatedMinutes, warmedUp } from "./estimate.ts";
import { measure, warmUp, type Sample, type Tools } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { median, type BenchResults, type Figure, type ResultRow } from "./results.ts";
import { startBifrostCore } from "./targets/bifrost-core.ts";
import { startBifrost, startFullBifrost } from "./targets/bifrost.ts";
import { startDirect } from "./targets/direct.ts";
import { startFloor } from "./targets/floor.ts";
import { startGateway, startGatewayWorkers } from "./targets/gateway.ts";
import { startFullLiteLlm, startLiteLlm } from "./targets/litellm.ts";
import { startNginx } from "./targets/nginx.ts";
import { startPortkey } from "./targets/portkey.ts";
import { TargetAbsent, type Target, type TargetId, type TargetStart } from "./targets/target.ts";
import { warmUpPlan } from "./warm-up.ts";
import { WORKS, unitOf, type Work } from "./works.ts";

const STARTERS: Readonly<Record<TargetId, (start: TargetStart) => Target | Promise<Target>>> = {
  direct: startDirect,
  gateway: startGateway,
  "gateway-workers": startGatewayWorkers,
  nginx: startNginx,
  floor: startFloor,
  portkey: startPortkey,
  "bifrost-core": startBifrostCore,
  bifrost: startBifrost,
  "bifrost-full": startFullBifrost,
  litellm: startLiteLlm,
  "litellm-full": startFullLiteLlm,
};
const QUIET_MS = 200;

export type Say = (line: string) => void;

/** The mock provider, the load generator and every candidate, running; one measured run of them. */
export class Bench {
  private readonly options: BenchOptions;
  private readonly say: Say;
  private readonly folder: string;
  private readonly tools: Tools;
  private readonly mockPort: number;
  private readonly targets: Map<TargetId, Target> = new Map();
  private readonly absent: { id: TargetId; reason: string }[] = [];
  /** How long the first row of each was warmed up. */
  private readonly warmedSeconds: Map<TargetId, number> = new Map();
  private readonly samples: Map<string, Sample[]> = new Map();
  private readonly loadAverageAtStart: number = loadAverage();
  private started = 0;
  private stopping: Promise<void> | undefined;

  private constructor(options: BenchOptions, say: Say, tools: Tools, mockPort: number) {
    this.options = options;
    this.say = say;
    this.tools = tools;
    this.mockPort = mockPort;
    this.folder = mkdtempSync(join(tmpdir(), "tokenmarket-bench-"));
    // A database server that root starts runs as another user, who must be able to come in.
    chmodSync(this.folder, 0o755);
    process.once("exit", () => rmSync(this.folder, { recursive: true, force: true }));
  }

  static async start(options: BenchOptions, say: Say): Promise<Bench> {
    const mock = startHelper("./mock-provider.ts");
    const mockPort = await receivePort(mock);
    const bench = new Bench(
      options,
      say,
      { mock, load: startHelper("./load.ts"), options },
      mockPort,
    );
    for (const id of Object.keys(STARTERS) as TargetId[]) {
      const wanted = options.works.some((work) => work.targets.includes(id));
      if (wanted && options.targets.has(id)) await bench.startTarget(id);
    }
    bench.sayEstimate();
    await bench.warmUpTargets();
    return bench;
  }

  async run(): Promise<Omit<BenchResults, "command">> {
    for (let round = 1; round <= this.options.rounds; round += 1) {
      for (const work of this.options.works) {
        // Memory needs fresh processes and hardly scatters: once, when nothing warm is needed more.
        if (work.kind === "memory" && round < this.options.rounds) continue;
        this.say(`round ${round} of ${this.options.rounds}: ${work.title}`);
        for (const id of turned(work.targets, round)) await this.measureTarget(work, id);
      }
    }
    return this.results();
  }

  /** Ends every process; a run that is still in progress fails at its next step. */
  stop(): Promise<void> {
    this.stopping ??= this.stopAll();
    return this.stopping;
  }

  private async stopAll(): Promise<void> {
    await Promise.all([...this.targets.values()].map((target) => target.stop()));
    this.tools.load.stop();
    this.tools.mock.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private sayEstimate(): void {
    const { least, most } = estimatedMinutes(this.options, [...this.targets.values()]);
    const { timeLimitMinutes } = this.options;
    this.say(
      `this run takes about ${least.toFixed(0)} to ${most.toFixed(0)} minutes ` +
        `(--rounds, --seconds and --warm-up change it; stopped after ${timeLimitMinutes})`,
    );
  }

  /** Every row's own path through a target is compiled before any of them is measured. */
  private async warmUpTargets(): Promise<void> {
    const rows = warmedUp(this.options.works);
    for (const work of rows.length > 0 ? rows : WORKS.slice(0, 1)) {
      this.say(`warming up: ${work.title}`);
      for (const id of work.targets) {
        const target = this.targets.get(id);
        if (target !== undefined) await this.warmUpTarget(work, target);
      }
    }
  }

  private async warmUpTarget(work: Work, target: Target): Promise<void> {
    const { id } = target;
    const plan = warmUpPlan(this.options.warmUpSeconds, !this.warmedSeconds.has(id));
    const seen = await warmUp(this.tools, { work, target }, plan);
    if (seen === undefined) return;
    if (!this.warmedSeconds.has(id)) this.warmedSeconds.set(id, seen.seconds);
    const [first, last] = [seen.costs.at(0) ?? 0, seen.costs.at(-1) ?? 0];
    this.say(
      `  ${id.padEnd(15)} ${seen.seconds.toFixed(1).padStart(5)} s, ` +
        `${first.toFixed(1)} -> ${last.toFixed(1)} us`,
    );
  }

  private async startTarget(id: TargetId): Promise<void> {
    this.started += 1;
    const folder = join(this.folder, `${id}-${this.started}`);
    mkdirSync(folder);
    try {
      const { mockPort } = this;
      const { profileFolder } = this.options;
      this.targets.set(id, await STARTERS[id]({ mockPort, folder, profileFolder }));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.absent.push({ id, reason });
      const word = error instanceof TargetAbsent ? "ABSENT" : "FAILED TO START";
      this.say(`*** ${id.toUpperCase()} ${word}, its columns stay empty ***\n${reason}`);
    }
  }

  private async measureTarget(work: Work, id: TargetId): Promise<void> {
    if (work.kind === "memory") await this.restartTarget(id);
    const target = this.targets.get(id);
    if (target === undefined) return;
    const sample = await this.measureOrFail(work, target);
    if (sample === undefined) return;
    if (this.stopping !== undefined) throw new Error("the bench was stopped");
    const key = sampleKey(work, id);
    this.samples.set(key, [...(this.samples.get(key) ?? []), sample]);
    this.say(
      `  ${id.padEnd(15)} ${sample.value.toFixed(2).padStart(9)} ${unitOf(work)}` +
        (sample.perSecond > 0 ? `  at ${sample.perSecond.toFixed(0)}/s` : "") +
        (sample.problem === undefined ? "" : `  PROBLEM: ${sample.problem}`),
    );
    await sleep(QUIET_MS);
  }

  private async measureOrFail(work: Work, target: Target): Promise<Sample | undefined> {
    try {
      return await measure(this.tools, work, target);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      return { value: Number.NaN, helpers: 0, perSecond: 0, p99Ms: 0, load: 0, problem };
    }
  }

  private async restartTarget(id: TargetId): Promise<void> {
    const running = this.targets.get(id);
    if (running === undefined) return;
    this.targets.delete(id);
    await running.stop();
    await this.startTarget(id);
  }

  private results(): Omit<BenchResults, "command"> {
    const { options } = this;
    const { rounds, seconds, connections, streams, memoryStreams } = options;
    const { requestsPerSecond, warmUpSeconds } = options;
    return {
      format: 1,
      date: today(),
      node: process.versions.node,
      machine: machineFacts(this.loadAverageAtStart),
      settings: {
        rounds,
        seconds,
        connections,
        streams,
        memoryStreams,
        requestsPerSecond,
        warmUpSeconds,
      },
      targets: [...this.targets.values()].map(({ id, version }) => {
        const warmedSeconds = this.warmedSeconds.get(id);
        return { id, version, ...(warmedSeconds === undefined ? {} : { warmedSeconds }) };
      }),
      absent: this.absent,
      rows: options.works.map((work) => this.resultRow(work)),
    };
  }

  private resultRow(work: Work): ResultRow {
    const figures = work.targets.flatMap((id) => {
      const samples = this.samples.get(sampleKey(work, id));
      return samples === undefined ? [] : [figureOf(id, samples)];
    });
    return { work: work.id, unit: unitOf(work), figures };
  }
}

function sampleKey(work: Work, id: TargetId): string {
  return `${work.id} ${id}`;
}

/** Every round begins with another candidate, so that none always follows the same one. */
function turned(ids: readonly TargetId[], round: number): readonly TargetId[] {
  const first = (round - 1) % ids.length;
  return [...ids.slice(first), ...ids.slice(0, first)];
}

function figureOf(target: TargetId, samples: readonly Sample[]): Figure {
  // Late events arrive in bursts and cost less each: a sample with a problem is not a figure.
  const sound = samples.filter((sample) => sample.problem === undefined);
  const values = sound.map((sample) => rounded(sample.value)).filter(Number.isFinite);
  const problem = samples.find((sample) => sample.problem !== undefined)?.problem;
  return {
    target,
    min: values.length === 0 ? 0 : Math.min(...values),
    median: median(values),
    values,
    helpersMedian: rounded(median(samples.map((sample) => sample.helpers))),
    perSecondMedian: rounded(median(samples.map((sample) => sample.perSecond))),
    p99Median: rounded(median(samples.map((sample) => sample.p99Ms))),
    loadMedian: rounded(median(samples.map((sample) => sample.load))),
    ...innerOf(samples.flatMap((sample) => sample.inner ?? [])),
    ...(problem === undefined ? {} : { problem }),
  };
}

function innerOf(inners: readonly InnerFigures[]): Pick<Figure, "inner"> {
  if (inners.length === 0) return {};
  const middle = (name: keyof InnerFigures): number =>
    rounded(median(inners.map((each) => each[name])));
  return {
    inner: {
      batchesPerThousand: middle("batchesPerThousand"),
      rowsPerBatch: middle("rowsPerBatch"),
      collectionsPerThousand: middle("collectionsPerThousand"),
      collectionMsPerThousand: middle("collectionMsPerThousand"),
    },
  };
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
