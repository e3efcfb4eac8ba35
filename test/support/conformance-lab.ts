import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import type { Deployment } from "../../src/catalog/catalog.ts";
import { compileCatalog } from "../../src/catalog/compile-catalog.ts";
import { parseManifestFiles } from "../../src/catalog/catalog-input.ts";
import type { Check } from "../../src/listing-tools/conformance/checks/check.ts";
import { Chance } from "../../src/listing-tools/conformance/probing/chance.ts";
import { jobQuestions } from "../../src/listing-tools/conformance/probing/job-questions.ts";
import { Lab, type Send } from "../../src/listing-tools/conformance/probing/lab.ts";
import type { CheckReport } from "../../src/listing-tools/conformance/report/finding.ts";
import { runChecks } from "../../src/listing-tools/conformance/run-checks.ts";
import {
  type ProbeDeps,
  sendProbe,
} from "../../src/listing-tools/conformance/probing/send-probe.ts";
import { Spending } from "../../src/listing-tools/conformance/probing/spending.ts";
import { Deadlines, systemClock } from "../../src/kernel/core/time.ts";
import { parseUsd, ZERO_MICRO_USD } from "../../src/kernel/core/money.ts";
import { type Simulator, startSimulator } from "../../src/dev/simulator/simulator.ts";
import { attemptClassifier } from "../../src/upstream/classifier.ts";
import { UpstreamClient } from "../../src/upstream/upstream-client.ts";
import { seedOf } from "./depth.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const TODAY = "2026-11-20";
const SEED = String(seedOf("conformance"));

export class ConformanceBench {
  readonly simulator: Simulator;
  readonly #deadlines = new Deadlines(systemClock);
  readonly #clients: readonly [right: UpstreamClient, wrong: UpstreamClient];
  readonly #ending = new AbortController();

  private constructor(simulator: Simulator) {
    this.simulator = simulator;
    this.#clients = [clientWith("a-good-key"), clientWith("an-invalid-key")];
  }

  static async open(): Promise<ConformanceBench> {
    return new ConformanceBench(await startSimulator({ port: 0, host: "127.0.0.1" }));
  }

  /** The models of a manifest. The simulator acts as their provider at `root`. */
  deployments({ file, root, change }: ManifestAt): readonly Deployment[] {
    const read = JSON.parse(readFileSync(resolve(ROOT, file), "utf8")) as Manifest;
    read.endpoint["base_url"] = this.simulator.url + root;
    change?.(read);
    const parsed = parseManifestFiles([{ file, text: JSON.stringify(read) }]);
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
    const { manifests } = parsed;
    const publicForm = (): boolean => root !== "" && !JSON.stringify(read).includes("/as_sent");
    const built = compileCatalog({ manifests, hasKey: () => true, today: TODAY, publicForm });
    if (!built.ok) throw new Error(JSON.stringify(built.issues));
    return built.catalog.deployments;
  }

  lab(deployment: Deployment, budgetUsd = "20"): Lab {
    const deps = this.#deps(budgetUsd);
    const [upstream] = this.#clients;
    const jobs = jobQuestions({ ...deps, upstream, pollMs: 1, deadlineMs: 5_000 }, deployment);
    const send: Send = (probe) => sendProbe(deps, deployment, probe);
    return new Lab(deployment, send, jobs, new Chance(SEED));
  }

  async run(lab: Lab, checks: readonly Check[]): Promise<readonly CheckReport[]> {
    return await runChecks(lab, {
      checks,
      nowMs: () => systemClock.monotonicMs(),
      signal: this.#ending.signal,
      shown: (report) => report,
      onEnd: () => undefined,
    });
  }

  async close(): Promise<void> {
    this.#ending.abort();
    for (const client of this.#clients) await client.close();
    await this.simulator.close();
  }

  #deps(budgetUsd: string): ProbeDeps {
    const [upstream, upstreamWithWrongKey] = this.#clients;
    return {
      clock: systemClock,
      deadlines: this.#deadlines,
      classify: attemptClassifier(systemClock),
      upstream,
      upstreamWithWrongKey,
      spending: new Spending(parseUsd(budgetUsd) ?? ZERO_MICRO_USD),
      timeoutMs: 20_000,
      signal: this.#ending.signal,
    };
  }
}

interface Manifest {
  readonly endpoint: Record<string, unknown>;
  readonly models: Record<string, unknown>[];
}

export interface ManifestAt {
  /** Path from the root of the repository. */
  readonly file: string;
  /** Path of the simulated host, such as `/img/v1`. */
  readonly root: string;
  /** Changes the manifest for the test. */
  readonly change?: (manifest: Manifest) => void;
}

function clientWith(key: string): UpstreamClient {
  return new UpstreamClient({ allowPrivateUpstreams: true, providerKey: () => key });
}
