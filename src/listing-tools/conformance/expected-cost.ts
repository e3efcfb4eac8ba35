import { type Deployment, exactCost, quoteWorstCase } from "../../catalog/index.ts";
import {
  ceilToMicroUsd,
  formatUsd,
  microUsd,
  type MicroUsd,
  ZERO_USAGE,
} from "../../kernel/index.ts";
import { boundFor, chatProbes, LARGE_BOUND, otherWires, smallBounds } from "./chat/chat-probes.ts";
import { factRows, longFacts, shortFact } from "./chat/fact-probes.ts";
import { MEDIA_KINDS, mediaPair } from "./chat/input-probes.ts";
import { decisionProbes } from "./decisions/decision-probes.ts";
import { imageCount, imageProbes } from "./images/image-probes.ts";
import { Chance, type Probe, type Subject } from "./probing/lab.ts";
import { type ListingsOptions, readListings } from "./read-listings.ts";
import { videoProbes, videoSeconds } from "./videos/video-probes.ts";

/** Amounts are exact decimals in USD. `expected_usd` of a model without prices is null. */
export interface ExpectedCosts {
  readonly expected_usd: string;
  readonly models: readonly { readonly id: string; readonly expected_usd: string | null }[];
}

/** Estimates the cost of a complete run over these listings, and sends nothing. */
export function expectedCosts(
  options: ListingsOptions,
):
  | { readonly ok: true; readonly costs: ExpectedCosts }
  | { readonly ok: false; readonly problems: readonly string[] } {
  const listings = readListings(options);
  if (!listings.ok) return listings;
  const costs = listings.deployments.map((each) => ({ each, cost: expectedCost(each) }));
  const sum = costs.reduce((all, { cost = 0n }) => all + cost, 0n);
  const models = costs.map(({ each, cost }) => ({
    id: each.modelId,
    expected_usd: cost === undefined ? null : formatUsd(cost),
  }));
  return { ok: true, costs: { expected_usd: formatUsd(microUsd(sum)), models } };
}

/** Tokens that an honest provider bills. If unset, `input` is estimated from the body. */
type Expected = readonly [probe: Probe, output: number, input?: number];

/** Expected output tokens, by the kind of probe. `FILE_TOKENS` are the input tokens of a file. */
const SHORT_TOKENS = 30;
const COPY_TOKENS = 120;
const COUNT_TOKENS = 300;
const STORY_TOKENS = 900;
const FILE_TOKENS = 300;
const ENGLISH_BYTES_PER_TOKEN = 4;
const REPEATS = 10;

/** The cost of a run with only right answers: wrong ones cost more. Undefined without prices. */
function expectedCost(deployment: Deployment): MicroUsd | undefined {
  const { prices, modality } = deployment;
  if (prices === null) return undefined;
  const subject: Subject = { deployment, chance: new Chance("expected cost") };
  const costs = EXPECTED[modality](subject).map(([probe, output, of]): bigint => {
    const input = of ?? tokensIn(probe.body);
    return modality === "text" || modality === "decisions"
      ? ceilToMicroUsd(exactCost(prices, { ...ZERO_USAGE, prompt: input, completion: output }))
      : quoteWorstCase(prices, { input, output });
  });
  return microUsd(costs.reduce((sum, cost) => sum + cost, 0n));
}

function tokensIn(text: unknown): number {
  return Math.ceil(Buffer.byteLength(JSON.stringify(text)) / ENGLISH_BYTES_PER_TOKEN);
}

const EXPECTED: Readonly<Record<Deployment["modality"], (of: Subject) => readonly Expected[]>> = {
  text: (subject) => [...ofText(subject), ...ofFacts(subject), ...ofFeatures(subject)],
  image: (subject) => {
    const { maxOutputTokens: ceiling = 0 } = subject.deployment;
    const shapes = imageProbes.shapes(subject).map(({ probe }) => probe);
    const others = shapes.length === 0 ? [imageProbes.other(subject)] : [];
    return [...imageProbes.plain(subject), ...shapes, ...others].map((each) => [
      each,
      imageCount(each) * ceiling,
    ]);
  },
  video: (subject) => {
    const { maxOutputTokens: ceiling = 0 } = subject.deployment;
    const probes = [videoProbes.shortest(subject), videoProbes.usual(subject)];
    return probes.map((each) => [each, videoSeconds(each) * ceiling]);
  },
  decisions: (subject) => {
    const { deployment } = subject;
    const one = decisionProbes.one(deployment);
    const told = [0, 1, 2].map((at) => decisionProbes.told(subject, { at, isFirst: at === 0 }));
    const isEach = deployment.decisions?.isStatePerQuestion === true;
    return [
      ...Array.from({ length: REPEATS + 1 }, () => one),
      ...[1, 2].map((attempt) => decisionProbes.read(deployment, attempt)),
      decisionProbes.several(deployment),
      ...decisionProbes.kinds(deployment),
      ...told,
    ].map((each) => {
      const { length } = each.questions;
      return [each, SHORT_TOKENS * length, tokensIn(each.body) * (isEach ? length : 1)];
    });
  },
};

function ofText(subject: Subject): readonly Expected[] {
  const { deployment } = subject;
  const wires = [undefined, ...otherWires(deployment)];
  const large = boundFor(deployment, LARGE_BOUND);
  return [
    ...wires.flatMap((wire): Expected[] => [
      [chatProbes.short(deployment, wire), SHORT_TOKENS],
      [chatProbes.shortStream(deployment, wire), SHORT_TOKENS],
    ]),
    ...[1, 1, 1, 3].map((copies): Expected => [chatProbes.measured(subject, copies), 16]),
    [chatProbes.framed(subject), 16],
    [chatProbes.story(subject, false), STORY_TOKENS],
    [chatProbes.story(subject, true), STORY_TOKENS],
    // The second entry adds up two probes, whose prompts contain the recited text once and twice.
    ...(["english", "alphabets"] as const).flatMap((what): Expected[] => [
      [chatProbes.recited(subject, what, false), COPY_TOKENS],
      [chatProbes.recited(subject, what, false), 2 * SHORT_TOKENS, 3 * COPY_TOKENS],
    ]),
    [chatProbes.story(subject, false), 2 * SHORT_TOKENS, 3 * STORY_TOKENS],
    ...[1, ...smallBounds(subject), large].flatMap((bound) =>
      [false, true].map((stream): Expected => [
        chatProbes.long(subject, bound, stream),
        Math.min(bound, COUNT_TOKENS),
      ]),
    ),
  ];
}

function ofFacts(subject: Subject): readonly Expected[] {
  const rows = factRows(subject).flatMap(({ whole, stream, longer }) => [whole, stream, longer]);
  const repeats = Array.from({ length: REPEATS }, (_each, at) => shortFact(subject, at + 1));
  const longs = [longFacts(subject, false), longFacts(subject, true)];
  return [...rows, ...repeats, ...longs].map((each) => [each, SHORT_TOKENS]);
}

function ofFeatures(subject: Subject): readonly Expected[] {
  const { supportedParameters, inputModalities } = subject.deployment;
  const both = (of: (stream: boolean) => Probe): readonly Probe[] => [of(false), of(true)];
  const files = MEDIA_KINDS.filter((kind) => inputModalities.has(kind)).flatMap((kind) => {
    const pair = mediaPair(subject.deployment, kind);
    return pair === undefined ? [] : [pair.first, pair.second];
  });
  const asked = files.map((each): Expected => [each, SHORT_TOKENS, FILE_TOKENS]);
  const listed = (name: string, of: () => readonly Probe[]): readonly Probe[] =>
    supportedParameters.has(name) ? of() : [];
  const wires = [undefined, ...otherWires(subject.deployment)];
  const probes = [
    ...listed("stop", () =>
      [false, true].flatMap((second) => both((how) => chatProbes.stopped(subject, how, second))),
    ),
    ...listed("tools", () =>
      wires.flatMap((wire) => both((how) => chatProbes.tool(subject, how, wire && { wire }))),
    ),
    ...listed("tools", () => both((how) => chatProbes.bothCalls(subject, how))),
    ...listed("tool_choice", () =>
      (["none", "required"] as const).flatMap((choice) =>
        both((how) => chatProbes.toolChoice(subject, choice, how)),
      ),
    ),
    ...listed("parallel_tool_calls", () => both((how) => chatProbes.singleCall(subject, how))),
    ...listed("response_format", () => both((how) => chatProbes.formatted(subject, how))),
  ];
  return [...probes.map((each): Expected => [each, SHORT_TOKENS]), ...asked];
}
