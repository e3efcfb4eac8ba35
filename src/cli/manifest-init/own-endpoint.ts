import { type Config, defined, unreachable } from "../../kernel/index.ts";
import {
  draftManifest,
  type EndpointAddress,
  type ListableModel,
  loadedContexts,
  modelName,
  presentText,
  type Survey,
  surveyEndpoint,
  type SurveyedModel,
  type SurveyOutcome,
  type AskDeps,
  DIALECTS,
  tryWires,
} from "../../listing-tools/index.ts";
import type { Answers } from "../ask-person.ts";
import {
  type CommandContext,
  type Flags,
  readConfig,
  readText,
  UsageFault,
} from "../command-context.ts";
import { readAskDeps } from "../with-backend.ts";
import { askOperator } from "./ask-operator.ts";
import { readMargin, type InitResult, type ModelNote, startResult } from "./init-flags.ts";
import { chooseFile, keyIssue, placeManifest } from "./write-manifest.ts";

export async function initOwnEndpoint(
  io: CommandContext,
  flags: Flags,
  answers: Answers,
): Promise<InitResult> {
  const config = readConfig(io, flags);
  const address = readAddress(io, flags, config);
  const deps = readAskDeps(config);
  const outcome = await surveyEndpoint({ ...address, isSelfHosted: true }, deps);
  if (!outcome.ok) throw surveyFault(address.baseUrl, outcome);
  const { survey } = outcome;
  const { models, twice } = distinctNames(survey.models);
  tellSurvey(answers, { ...survey, models });
  const skipped = [...survey.skipped, ...twice];
  if (models.length === 0) {
    const issue = `${address.baseUrl} lists no model that a manifest can hold`;
    return startResult("", { skipped, issues: [issue] });
  }
  const operator = await askOperator(answers, flags, { ...survey, models });
  const file = chooseFile(config, flags, operator.providerId);
  const [first] = operator.models;
  if (first === undefined) return startResult("", { skipped, issues: ["no model was chosen"] });
  const dialect = await chooseDialect(flags, { address, upstreamId: first.upstreamId, deps });
  if (!dialect.ok) {
    return startResult("", { skipped, issues: [`${address.baseUrl}: ${dialect.problem}`] });
  }
  const loaded =
    survey.kind === "ollama" ? await loadedContexts(address, deps) : new Map<string, number>();
  const { models: chosen, ...own } = operator;
  const { baseUrl, apiKeyEnv } = address;
  const draft = draftManifest(
    { ...own, baseUrl, dialect: dialect.id, ...defined({ apiKeyEnv }) },
    chosen.map((model) => asLoaded(model, loaded)),
  );
  const place = { config, file, margin: readMargin(flags) };
  const placed = placeManifest(io, place, draft, startResult(own.providerId, { skipped }));
  if (placed.file === undefined) return placed;
  return { ...placed, notes: [...dialect.notes, ...chosen.flatMap(contextNote)] };
}

type Address = EndpointAddress & { readonly apiKeyEnv?: string };

/** Reads the endpoint URL, and the key from the named variable; the key goes only to this URL. */
function readAddress({ env }: CommandContext, flags: Flags, config: Config): Address {
  const baseUrl = (readText(flags, "base-url") ?? "").trim().replace(/\/+$/, "");
  const apiKeyEnv = readText(flags, "api-key-env");
  if (apiKeyEnv === undefined) return { baseUrl };
  if (!/^[A-Z][A-Z0-9_]*$/.test(apiKeyEnv)) {
    throw new UsageFault("--api-key-env is the name of an environment variable, such as GPU_KEY");
  }
  const key = env[apiKeyEnv] ?? "";
  if (key === "") throw new UsageFault(`the environment variable ${apiKeyEnv} holds no key`);
  const file = readText(flags, "out") ?? "this manifest";
  const issue = URL.canParse(baseUrl) ? keyIssue(config, file, { baseUrl, apiKeyEnv }) : undefined;
  if (issue !== undefined) throw new UsageFault(issue);
  return { baseUrl, apiKeyEnv, key };
}

export function surveyFault(
  baseUrl: string,
  { code, message }: Extract<SurveyOutcome, { ok: false }>,
): UsageFault {
  const shown = presentText(baseUrl);
  switch (code) {
    case "address":
      // The message leaves out the URL, because it may contain a password.
      return new UsageFault(`--base-url: ${message}`);
    case "private":
      return new UsageFault(
        `${shown}: ${message}; set TM_ALLOW_PRIVATE_UPSTREAMS=1 to use it, here and for the server`,
      );
    case "key_refused":
      return new UsageFault(`${shown}: ${message}; name the variable of its key: --api-key-env`);
    case "unreachable":
    case "no_list":
      return new UsageFault(`${shown}: ${message}`);
    default:
      return unreachable(code);
  }
}

function tellSurvey(answers: Answers, { kind, models, skipped }: Survey): void {
  const server = kind === "other" ? "an endpoint" : kind;
  answers.tell(`${server} with ${models.length} models:`);
  for (const { upstreamId, contextLength, quantization = "" } of models.slice(0, TOLD_MAX)) {
    answers.tell(`  ${upstreamId}  ${contextLength ?? "context unknown"}  ${quantization}`);
  }
  if (models.length > TOLD_MAX) answers.tell(`  … and ${models.length - TOLD_MAX} more`);
  for (const { model, message } of skipped.slice(0, TOLD_MAX)) {
    answers.tell(`  not listed: ${model}: ${message}`);
  }
}

const TOLD_MAX = 50;

/** If two models would have the same name on the marketplace, keeps the first of them. */
function distinctNames(surveyed: readonly SurveyedModel[]): {
  readonly models: readonly SurveyedModel[];
  readonly twice: readonly ModelNote[];
} {
  const models = new Map<string, SurveyedModel>();
  const twice: ModelNote[] = [];
  const message = "another model of this endpoint has the same name on the marketplace";
  for (const model of surveyed) {
    const name = modelName(model.upstreamId);
    if (models.has(name)) twice.push({ model: model.upstreamId, code: "same_name", message });
    else models.set(name, model);
  }
  return { models: [...models.values()], twice };
}

/** Limits the context length to the loaded model's: the server silently cuts longer prompts. */
function asLoaded(model: ListableModel, loaded: ReadonlyMap<string, number>): ListableModel {
  const context = loaded.get(model.upstreamId) ?? loaded.get(`${model.upstreamId}:latest`);
  if (context === undefined || context >= model.contextLength) return model;
  return { ...model, contextLength: context, contextFrom: "as loaded now" };
}

/** Returns a note if the context length is the model's maximum: the server may offer less. */
function contextNote({ upstreamId, contextFrom }: ListableModel): readonly ModelNote[] {
  const isOwn = ["n_ctx_train", "the model file", "max_context_length"].includes(contextFrom ?? "");
  if (!isOwn) return [];
  const message = `its context length is the model's own (${contextFrom}); if the server gives it less, run again with --context`;
  return [{ model: upstreamId, code: "context_of_model", message }];
}

type ChosenDialect =
  | { readonly ok: true; readonly id: string; readonly notes: readonly ModelNote[] }
  | { readonly ok: false; readonly problem: string };

/** The dialect of `--dialect`; without it, the first one in which the endpoint answers. */
async function chooseDialect(
  flags: Flags,
  asked: {
    readonly address: EndpointAddress;
    readonly upstreamId: string;
    readonly deps: AskDeps;
  },
): Promise<ChosenDialect> {
  const wanted = readDialect(flags);
  const { address, upstreamId, deps } = asked;
  const wireIds = wanted === undefined ? DIALECTS : [wanted];
  const trials = await tryWires({ ...address, upstreamId, wireIds }, deps);
  const [chosen, ...others] = trials.filter(({ answers }) => answers);
  if (chosen === undefined) {
    const seen = trials.map((trial) => `${trial.wireId}: ${trial.seen}`).join("; ");
    return { ok: false, problem: `no answer to one token of ${upstreamId} (${seen})` };
  }
  const notes = others.map(({ wireId }): ModelNote => {
    const message = `it answers on ${wireId} too; for a second manifest: --dialect ${wireId} --id another-id`;
    return { model: upstreamId, code: "other_dialect", message };
  });
  return { ok: true, id: chosen.wireId, notes };
}

function readDialect(flags: Flags): string | undefined {
  const wanted = readText(flags, "dialect");
  if (wanted === undefined || DIALECTS.includes(wanted)) return wanted;
  throw new UsageFault(`--dialect must be ${DIALECTS.join(" or ")}, not ${wanted}`);
}
