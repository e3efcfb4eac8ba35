import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startBifrostCore } from "../test/peer/bifrost-core.ts";
import { startBifrost, startFullBifrost } from "../test/peer/bifrost.ts";
import { startFullLiteLlm, startLiteLlm } from "../test/peer/litellm.ts";
import { startPortkey } from "../test/peer/portkey.ts";
import { figureOf, tablesOf, type Figure } from "./call-tables.ts";
import { receivePort, startHelper } from "./children.ts";
import { measure, warmUp, type CallOptions, type Sample, type Tools } from "./measure.ts";
import { buildGateway, parseWords, type Context, type Report } from "./program.ts";
import { SIZE_OPTIONS, checkedSizes, type Sizes } from "./sizes.ts";
import { startDirect } from "../test/peer/direct.ts";
import { startFloor } from "../test/peer/floor.ts";
import {
  DEPLOYMENTS,
  startDeployment,
  startGateway,
  startGrownGateway,
} from "./targets/gateway.ts";
import { startNginx } from "../test/peer/nginx.ts";
import { TargetAbsent, type Target, type TargetId, type TargetStart } from "./targets/target.ts";
import { WORKS, type Work } from "./works.ts";

export const USAGE: string = `npm run bench -- call [options]
  What a call costs with everything on, beside nginx, a bare Node relay and the peers that are installed.
  --only 1kb,stream         rows whose id starts so
  --targets gateway,nginx   in place of all; gateway-grown only when it is named
  --rounds 3                interleaved rounds; minimum and median are printed
  --seconds 1               length of one measured window
  --connections 64          kept-alive connections of the request rows
  --streams 1000            open streams of the stream rows, one event each 100 ms
  --memory-streams 2000     open streams of the memory row
  --rate 300                requests per second of the latency row
  --warm-up 40              seconds at most that a target runs before its first row is measured, as long
                            as it gets cheaper; an eighth for later rows
  --no-build                measure dist/ as it is`;

type Starter = (start: TargetStart) => Promise<Target>;
const DEPLOYED = Object.fromEntries(
  DEPLOYMENTS.map((each) => [each.id, (start: TargetStart) => startDeployment(start, each)]),
) as Record<(typeof DEPLOYMENTS)[number]["id"], Starter>;

const STARTERS: Readonly<Record<TargetId, (start: TargetStart) => Target | Promise<Target>>> = {
  direct: startDirect,
  gateway: startGateway,
  "gateway-grown": startGrownGateway,
  ...DEPLOYED,
  nginx: startNginx,
  floor: startFloor,
  portkey: startPortkey,
  "bifrost-core": startBifrostCore,
  bifrost: startBifrost,
  "bifrost-full": startFullBifrost,
  litellm: startLiteLlm,
  "litellm-full": startFullLiteLlm,
};
const TARGETS = Object.keys(STARTERS).filter((id) => !["direct", "gateway-grown"].includes(id));
const QUIET_MS = 200;
const NOTHING = { helpers: 0, redis: 0, perSecond: 0, load: 0 };

export async function run(words: readonly string[], context: Context): Promise<Report> {
  const {
    only,
    targets,
    "no-build": isBuilt,
    ...rest
  } = parseWords(words, {
    only: "",
    targets: TARGETS.join(","),
    rounds: { value: 3, max: 100 },
    seconds: { value: 1, max: 300 },
    connections: { value: 64, max: 1_000 },
    streams: { value: 1_000, max: 5_000 },
    "memory-streams": { value: 2_000, max: 5_000 },
    rate: { value: 300, max: 10_000 },
    "warm-up": { value: 40, max: 300 },
    "no-build": false,
    ...SIZE_OPTIONS,
  });
  const picked = new Set(["direct", ...targets.split(",")]);
  const unknown = [...picked].find((id) => !Object.hasOwn(STARTERS, id));
  if (unknown !== undefined) throw new Error(`--targets: ${unknown} is not a target\n${USAGE}`);
  const starts = only.split(",");
  const works = WORKS.filter(({ id }) => starts.some((start) => id.startsWith(start)));
  if (works.length === 0) throw new Error(`--only ${only} names no row\n${USAGE}`);
  if (!isBuilt) buildGateway(context.say);
  const options = { ...rest, works, sizes: checkedSizes(rest) };
  return await new CallBench(options, picked, context).run();
}

interface Options extends CallOptions {
  readonly works: readonly Work[];
  readonly rounds: number;
  readonly sizes: Sizes;
}

/** Starts the mock provider and the load generator, and measures the chosen targets in rounds. */
class CallBench {
  readonly #options: Options;
  readonly #picked: ReadonlySet<string>;
  readonly #context: Context;
  readonly #folder: string = mkdtempSync(join(tmpdir(), "tokenmarket-bench-"));
  readonly #tools: Tools;
  readonly #targets: Map<TargetId, Target> = new Map();
  readonly #samples: Map<string, Sample[]> = new Map();
  readonly #absent: string[] = [];
  #started = 0;

  constructor(options: Options, picked: ReadonlySet<string>, context: Context) {
    this.#options = options;
    this.#picked = picked;
    this.#context = context;
    // If this process runs as root, the database server runs as another user, who needs access.
    chmodSync(this.#folder, 0o755);
    const { resources } = context;
    resources.defer(() => rmSync(this.#folder, { recursive: true, force: true }));
    const [mock, load] = [startHelper("./mock-provider.ts"), startHelper("./load.ts")];
    resources.defer(() => [mock, load].forEach((each) => each.stop()));
    resources.defer(async () => {
      await Promise.all([...this.#targets.values()].map((target) => target.stop()));
    });
    this.#tools = { mock, load, options };
  }

  async run(): Promise<Report> {
    const { works, rounds } = this.#options;
    const mockPort = await receivePort(this.#tools.mock);
    for (const id of Object.keys(STARTERS) as TargetId[]) {
      const isMeasured = works.some((work) => work.targets.includes(id));
      if (isMeasured && this.#picked.has(id)) await this.#start(id, mockPort);
    }
    await this.#warmUp();
    for (let round = 1; round <= rounds; round += 1) {
      for (const work of works) {
        // Memory needs fresh processes and hardly varies, so only the last round measures it.
        if (work.kind === "memory" && round < rounds) continue;
        this.#context.say(`round ${round} of ${rounds}: ${work.title}`);
        for (const id of turned(work.targets, round)) await this.#measure(work, id, mockPort);
      }
    }
    return this.#report();
  }

  async #start(id: TargetId, mockPort: number): Promise<void> {
    this.#started += 1;
    const folder = join(this.#folder, `${id}-${this.#started}`);
    mkdirSync(folder);
    try {
      const { sizes } = this.#options;
      this.#targets.set(id, await STARTERS[id]({ mockPort, folder, sizes }));
    } catch (error) {
      if (!(error instanceof TargetAbsent)) throw error;
      this.#absent.push(`${id} was not measured: ${error.message}`);
      this.#context.say(`*** ${id} is absent, its columns stay empty: ${error.message}`);
    }
  }

  /** Runs the request and stream rows first, so that just-in-time compilation is mostly over. */
  async #warmUp(): Promise<void> {
    const warmed = new Set<TargetId>();
    const { works } = this.#options;
    for (const work of works.filter(({ kind }) => kind === "request" || kind === "stream")) {
      this.#context.say(`warming up: ${work.title}`);
      for (const id of work.targets) {
        const target = this.#targets.get(id);
        if (target === undefined) continue;
        const seconds = await warmUp(this.#tools, { work, target }, !warmed.has(id));
        if (seconds > 0) warmed.add(id);
        this.#context.say(`  ${id.padEnd(15)} ${seconds.toFixed(1).padStart(5)} s`);
      }
    }
  }

  async #measure(work: Work, id: TargetId, mockPort: number): Promise<void> {
    const running = this.#targets.get(id);
    if (running === undefined) return;
    if (work.kind === "memory") {
      this.#targets.delete(id);
      await running.stop();
      await this.#start(id, mockPort);
    }
    const target = this.#targets.get(id);
    if (target === undefined) return;
    const sample = await measure(this.#tools, work, target).catch((error: unknown) => {
      return { ...NOTHING, value: Number.NaN, problem: String(error) };
    });
    if (sample === undefined) return;
    const key = `${work.id} ${id}`;
    this.#samples.set(key, [...(this.#samples.get(key) ?? []), sample]);
    const problem = sample.problem === undefined ? "" : `  PROBLEM: ${sample.problem}`;
    const value = sample.value.toFixed(2).padStart(9);
    const rate = sample.perSecond.toFixed(0);
    this.#context.say(`  ${id.padEnd(15)} ${value} ${work.unit}  at ${rate}/s${problem}`);
    await sleep(QUIET_MS);
  }

  #report(): Report {
    const rows = this.#options.works.map((work) => {
      const figures = work.targets.flatMap((id) => {
        const samples = this.#samples.get(`${work.id} ${id}`);
        return samples === undefined ? [] : [[id, figureOf(samples)] as const];
      });
      return { work, figures: new Map<TargetId, Figure>(figures) };
    });
    const problems = rows.flatMap(({ work, figures }) =>
      [...figures].flatMap(([id, { problem }]) =>
        problem === undefined ? [] : [`${work.title}, ${id}: ${problem}`],
      ),
    );
    // Another gateway may be missing on this machine, but the run fails if ours is missing.
    const [own, others] = [true, false].map((isOwn) =>
      this.#absent.filter((line) => line.startsWith("gateway") === isOwn),
    );
    const versions = [...this.#targets.values()].map(({ id, version }) => [id, version]);
    const notes = { title: "Candidates", headings: ["Candidate", "Version"], rows: versions };
    const absent = { title: "Left out", headings: ["Why"], rows: (others ?? []).map((a) => [a]) };
    const data = rows.map(({ work, figures }) => ({
      work: work.id,
      ...Object.fromEntries(figures),
    }));
    return {
      tables: [...tablesOf(rows), notes, absent],
      problems: [...problems, ...(own ?? [])],
      data,
    };
  }
}

/** Rotates the targets, so that each round begins with a different target. */
function turned(ids: readonly TargetId[], round: number): readonly TargetId[] {
  const first = (round - 1) % ids.length;
  return [...ids.slice(first), ...ids.slice(0, first)];
}
