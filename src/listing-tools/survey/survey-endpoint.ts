import { asObject } from "../../kernel/index.ts";
import { type Wire, wires } from "../../formats/index.ts";
import {
  addressProblem,
  type AskDeps,
  type EndpointAddress,
  type EndpointAnswer,
  EndpointAsker,
  probeWire,
  type WireTrial,
} from "./ask-endpoint.ts";
import {
  type ModelList,
  readLmStudio,
  readModels,
  readOllamaLoaded,
  readOllamaModel,
  withLlamaProps,
} from "./read-servers.ts";
import {
  type ServerKind,
  type SkippedModel,
  type SurveyedModel,
  unlistableId,
} from "./surveyed-model.ts";

export interface Survey {
  readonly kind: ServerKind;
  readonly models: readonly SurveyedModel[];
  readonly skipped: readonly SkippedModel[];
}

export type SurveyOutcome =
  | { readonly ok: true; readonly survey: Survey }
  /** `private`: the address is private, and the settings do not allow that. */
  | {
      readonly ok: false;
      readonly code: "address" | "private" | "unreachable" | "key_refused" | "no_list";
      readonly message: string;
    };

export interface SurveyInput extends EndpointAddress {
  /** The wire whose key header is sent. If absent, the wires are tried until one is accepted. */
  readonly wireId?: string;
  /** True for a server program of the operator, which reports more than a hosted API. */
  readonly isSelfHosted: boolean;
}

/** Ollama's list has no details, so the models are asked for one by one, up to this number. */
const ASKED_ONE_BY_ONE_MAX = 200;
const ASKED_AT_ONCE = 4;
const SURVEY_MS_MAX = 60_000;

/** Ids of the chat wires, as manifests write them. */
export const DIALECTS: readonly string[] = wires.all.map(({ id }) => id);

/**
 * Lists an endpoint's models with what it reports about them: by `/models` and, if `isSelfHosted`,
 * the routes of the server program that seems to answer. Generates nothing, so it costs nothing.
 */
export async function surveyEndpoint(input: SurveyInput, deps: AskDeps): Promise<SurveyOutcome> {
  const asked = wires.all.filter(({ id }) => input.wireId === undefined || id === input.wireId);
  const [first] = asked;
  const problem = first === undefined ? undefined : addressProblem(input.baseUrl, first);
  if (problem !== undefined) return { ok: false, code: "address", message: problem };
  return await askWith(input, deps, async (asker) => {
    const listed = await askForList(asker, asked);
    if (!listed.ok) return listed;
    const { wire, list } = listed;
    const found = input.isSelfHosted
      ? await widened({ asker, wire, list, deps })
      : toSurvey(list.kind, list.models, list);
    return { ok: true, survey: found };
  });
}

async function askWith<T>(
  address: EndpointAddress,
  deps: AskDeps,
  work: (asker: EndpointAsker) => Promise<T>,
): Promise<T> {
  const asker = new EndpointAsker(address, deps);
  try {
    return await work(asker);
  } finally {
    await asker.close();
  }
}

/** Requests one token of the model on each wire of `wireIds`. */
export async function tryWires(
  input: EndpointAddress & { readonly upstreamId: string; readonly wireIds: readonly string[] },
  deps: AskDeps,
): Promise<readonly WireTrial[]> {
  return await askWith(input, deps, async (asker) => {
    const trials: WireTrial[] = [];
    // One after another, because a server for one user refuses or queues a second request.
    for (const wire of wires.all.filter(({ id }) => input.wireIds.includes(id))) {
      trials.push(await probeWire(asker, wire, input.upstreamId));
    }
    return trials;
  });
}

/** By model name: the context length of each model that Ollama has loaded now. */
export async function loadedContexts(
  input: EndpointAddress,
  deps: AskDeps,
): Promise<ReadonlyMap<string, number>> {
  const [wire] = wires.all;
  if (wire === undefined) return new Map();
  const answer = await askWith(input, deps, (asker) =>
    asker.ask({ from: "root", path: "/api/ps", wire }),
  );
  return readOllamaLoaded(answer.kind === "answer" ? answer.json : undefined);
}

type Listed =
  | Extract<SurveyOutcome, { readonly ok: false }>
  | { readonly ok: true; readonly wire: Wire; readonly list: ModelList };

/** Asks for the model list with the key header of each wire in turn, until one answer is a list. */
async function askForList(asker: EndpointAsker, asked: readonly Wire[]): Promise<Listed> {
  let worst: Listed | undefined;
  for (const wire of asked) {
    const { path, headers } = wire.keyCheck;
    const answer = await asker.ask({ from: "base", path, headers, wire });
    const list = isOk(answer) ? readModels(answer.json) : undefined;
    if (list !== undefined) return { ok: true, wire, list };
    worst ??= toFailure(answer, path);
    // An endpoint that does not answer at all would not answer with another key header either.
    if (answer.kind === "silent") break;
  }
  return worst ?? { ok: false, code: "no_list", message: "no wire has a list of models" };
}

function isOk(answer: EndpointAnswer): answer is Extract<EndpointAnswer, { kind: "answer" }> {
  return answer.kind === "answer" && answer.status >= 200 && answer.status < 300;
}

function toFailure(answer: EndpointAnswer, path: string): Listed {
  if (answer.kind === "silent") {
    return answer.isPrivate
      ? { ok: false, code: "private", message: answer.reason }
      : { ok: false, code: "unreachable", message: `it does not answer: ${answer.reason}` };
  }
  const { status } = answer;
  if (status === 401 || status === 403) {
    return { ok: false, code: "key_refused", message: `it refuses the key (status ${status})` };
  }
  if (status >= 300 && status < 400) {
    const message = `it redirects (status ${status}), which is not followed: give the address that it leads to`;
    return { ok: false, code: "no_list", message };
  }
  const seen =
    status < 300 ? "with something other than a list of models" : `with status ${status}`;
  const message = `GET ${path} is answered ${seen}; does the address end in its version, such as /v1?`;
  return { ok: false, code: "no_list", message };
}

interface Widening {
  readonly asker: EndpointAsker;
  readonly wire: Wire;
  readonly list: ModelList;
  readonly deps: AskDeps;
}

async function widened(input: Widening): Promise<Survey> {
  const { asker, wire, list } = input;
  const { kind, models } = list;
  if (kind === "vllm") return toSurvey(kind, models, list);
  if (kind === "llama-cpp") {
    const props = await asker.ask({ from: "root", path: "/props", wire });
    return toSurvey(kind, isOk(props) ? withLlamaProps(models, props.json) : models, list);
  }
  const studio = await asker.ask({ from: "root", path: "/api/v0/models", wire });
  const read = isOk(studio) ? readLmStudio(studio.json, models) : undefined;
  if (read === undefined) return await asOllama(input);
  const said = models.map((model) => read.get(model.upstreamId) ?? model);
  return toSurvey("lmstudio", said, list);
}

/** Recognizes Ollama by its own routes, because its model list does not name it. */
async function asOllama(input: Widening): Promise<Survey> {
  const { asker, wire, list, deps } = input;
  const tags = await asker.ask({ from: "root", path: "/api/tags", wire });
  const isOllama = isOk(tags) && Array.isArray(asObject(tags.json)?.["models"]);
  if (!isOllama) return toSurvey(list.kind, list.models, list);
  const endMs = deps.clock.monotonicMs() + SURVEY_MS_MAX;
  const asked = list.models.slice(0, ASKED_ONE_BY_ONE_MAX);
  const said = new Map<string, SurveyedModel | SkippedModel>();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < asked.length && deps.clock.monotonicMs() < endMs) {
      const model = asked[next++] as SurveyedModel;
      const body = { model: model.upstreamId };
      const answer = await asker.ask({ from: "root", path: "/api/show", wire, body });
      const read = isOk(answer) ? readOllamaModel(model, answer.json) : undefined;
      said.set(model.upstreamId, read ?? model);
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, work));
  const models = list.models.map((model) => said.get(model.upstreamId) ?? model);
  return toSurvey("ollama", models, list);
}

function toSurvey(
  kind: ServerKind,
  said: readonly (SurveyedModel | SkippedModel)[],
  { skipped, unlistable }: Pick<ModelList, "skipped" | "unlistable">,
): Survey {
  const unlisted = unlistable.map((id) => unlistableId(id, kind));
  const others = said.flatMap((each) => (isModel(each) ? [] : [each]));
  return { kind, models: said.filter(isModel), skipped: [...skipped, ...unlisted, ...others] };
}

function isModel(each: SurveyedModel | SkippedModel): each is SurveyedModel {
  return Object.hasOwn(each, "upstreamId");
}
