import { assert } from "../../kernel/index.ts";
import {
  findHead,
  type ListableModel,
  type OwnEndpoint,
  type Survey,
  type SurveyedModel,
  modelName,
} from "../../listing-tools/index.ts";
import type { Answers } from "../ask-person.ts";
import { type Flags, readText, readWhole, requireFilled, UsageFault } from "../command-context.ts";
import { chosenBy, joinValues, requirePrice, splitWords } from "./init-flags.ts";

type Operator = Omit<OwnEndpoint, "baseUrl" | "dialect" | "apiKeyEnv"> & {
  readonly models: readonly ListableModel[];
};

const CONTEXT = { min: 1, max: 100_000_000 };

export async function askOperator(
  answers: Answers,
  flags: Flags,
  survey: Survey,
): Promise<Operator> {
  const models = await askModels(answers, flags, survey.models);
  const context = await askContext(answers, flags, models ?? []);
  const prices = await askPrices(answers, flags);
  const named = await askNames(answers, flags, survey.kind);
  const settlement = readSettlement(flags);
  answers.needAll("manifest init");
  assert(models !== undefined && named !== undefined, "every question was answered");
  assert(prices !== undefined, "every question was answered");
  return {
    ...named,
    ...prices,
    kind: survey.kind,
    settlement,
    models: models.map((model) => {
      const { contextLength: own = Infinity } = model;
      const contextLength = Math.min(own, context ?? Infinity);
      return {
        ...model,
        contextLength,
        ...(contextLength < own && { contextFrom: "--context" }),
        ...(flags["tools"] === true && { callsTools: true }),
      };
    }),
  };
}

async function askModels(
  answers: Answers,
  flags: Flags,
  models: readonly SurveyedModel[],
): Promise<readonly SurveyedModel[] | undefined> {
  const names = ({ upstreamId }: SurveyedModel) => [upstreamId, modelName(upstreamId)];
  const isAll = flags["yes"] === true || answers.isPerson || models.length === 1;
  return await answers.get(joinValues(flags["models"]), {
    flag: "--models",
    question: "Models to list (names, * is any text)",
    ...(isAll ? { fallback: "*" } : {}),
    read: (text) => chosenBy(splitWords(text), models, { names, unknown: "no model is named" }),
  });
}

async function askContext(
  answers: Answers,
  flags: Flags,
  models: readonly SurveyedModel[],
): Promise<number | undefined> {
  const given = readWhole(flags, "context", CONTEXT);
  const unknown = models.filter(({ contextLength }) => contextLength === undefined);
  if (given !== undefined || unknown.length === 0) return given;
  const names = unknown.slice(0, 3).map(({ upstreamId }) => upstreamId);
  return await answers.get(undefined, {
    flag: `--context (the endpoint does not say it of ${names.join(", ")})`,
    question: `Context length in tokens of ${names.join(", ")}${unknown.length > 3 ? ", …" : ""}`,
    read: (text) => {
      const value = readWhole({ context: text }, "context", CONTEXT);
      if (value === undefined) throw new UsageFault("--context must be a number of tokens");
      return value;
    },
  });
}

type Prices = Pick<OwnEndpoint, "promptPrice" | "completionPrice">;

async function askPrices(answers: Answers, flags: Flags): Promise<Prices | undefined> {
  const prompt = readText(flags, "price-prompt");
  const completion = readText(flags, "price-completion");
  if (flags["free"] === true) {
    if (prompt === undefined && completion === undefined) {
      return { promptPrice: "0", completionPrice: "0" };
    }
    throw new UsageFault("specify either --free or the prices");
  }
  const promptPrice = await answers.get(prompt, {
    flag: "--price-prompt and --price-completion, or --free",
    question: "USD per million prompt tokens",
    read: (text) => requirePrice(text, "--price-prompt"),
  });
  if (promptPrice === undefined) return undefined;
  const completionPrice = await answers.flag(flags, "price-completion", {
    question: "USD per million completion tokens",
    read: requirePrice,
  });
  return completionPrice === undefined ? undefined : { promptPrice, completionPrice };
}

type Names = Pick<OwnEndpoint, "providerId" | "providerName" | "privacyPolicyUrl">;

async function askNames(
  answers: Answers,
  flags: Flags,
  kind: Survey["kind"],
): Promise<Names | undefined> {
  const providerId = await answers.flag(flags, "id", {
    question: "Provider id, which customers see",
    fallback: kind === "other" ? "own" : kind,
    read: requireId,
  });
  const providerName = await answers.flag(flags, "name", {
    question: "Its name",
    fallback: findHead(providerId ?? "")?.provider.name ?? providerId ?? "",
    read: requireFilled,
  });
  const privacyPolicyUrl = await answers.flag(flags, "privacy-url", {
    question: "Address of your privacy policy, which customers see",
    read: requireUrl,
  });
  if (providerId === undefined || providerName === undefined) return undefined;
  return privacyPolicyUrl === undefined
    ? undefined
    : { providerId, providerName, privacyPolicyUrl };
}

function requireId(text: string): string {
  if (/^[a-z0-9][a-z0-9-]{1,62}$/.test(text)) return text;
  throw new UsageFault(`--id must be lower-case letters, digits and hyphens, not ${text}`);
}

function requireUrl(text: string): string {
  if (/^https?:\/\/\S+$/.test(text) && URL.canParse(text)) return text;
  throw new UsageFault(`--privacy-url must be an address such as https://example.com/privacy`);
}

const MODES = ["arrears", "prepaid"] as const;
const INTERVALS = ["half_daily", "daily", "weekly", "monthly"] as const;

export function readSettlement(flags: Flags): OwnEndpoint["settlement"] {
  return {
    mode: readChoice(flags, "settlement", MODES) ?? "arrears",
    interval: readChoice(flags, "interval", INTERVALS) ?? "monthly",
  };
}

function readChoice<T extends string>(
  flags: Flags,
  name: string,
  known: readonly T[],
): T | undefined {
  const text = readText(flags, name);
  if (text === undefined) return undefined;
  const found = known.find((each) => each === text);
  if (found !== undefined) return found;
  throw new UsageFault(`--${name} must be ${known.join(", ")}, not ${text}`);
}
