import type { Deployment } from "../../../catalog/index.ts";
import {
  chooseCity,
  chatProbes,
  FORMAT_SCHEMA,
  otherWires,
  WEATHER_TOOL,
} from "../chat/chat-probes.ts";
import type { Check } from "./check.ts";
import { failed, type Finding, passed, skipped, chooseWorst } from "../report/finding.ts";
import { asObject, conforms, tryParse } from "../../../kernel/index.ts";
import type { Lab, Probe } from "../probing/lab.ts";
import { isServed, type Observation, describeFailure } from "../probing/observation.ts";
import type { ProviderCall } from "../../../formats/index.ts";
import { readChat } from "../chat/read-chat.ts";

const FEATURES = ["tools", "response_format"];
const NO_FEATURE = "the listing declares neither tools nor formats";

/** C6: tool calls come as requested, and calls and JSON answers match their schemas. */
export const toolCalls: Check = {
  id: "C6",
  title: "tool calls and formats",
  otherwise: NO_FEATURE,
  inapplicable: (deployment) =>
    FEATURES.some((name) => has(deployment, name)) ? undefined : NO_FEATURE,
  runs: {
    text: async (lab) => {
      const { deployment } = lab;
      const whole = await lab.ask(chatProbes.short(deployment));
      const stream = await lab.ask(chatProbes.shortStream(deployment));
      if (!isServed(whole) || !isServed(stream))
        return skipped("usual answers are not usable (C2, C3)");
      const parts: (Finding | undefined)[] = [];
      if (has(deployment, "tools")) {
        parts.push(await callFinding(lab, false), await callFinding(lab, true));
        parts.push(await swappedFinding(lab, false), await swappedFinding(lab, true));
        parts.push(await translatedFinding(lab), ...(await choiceFindings(lab)));
      }
      if (has(deployment, "response_format")) {
        parts.push(await formatFinding(lab, false), await formatFinding(lab, true));
      }
      const sure = passed("calls and formats are as they were asked for, whole and streamed");
      return chooseWorst(parts, sure);
    },
  },
};

function has({ supportedParameters }: Deployment, name: string): boolean {
  return supportedParameters.has(name);
}

/** Repeats a flawed call: a model may fail once, but a faulty provider fails each time. */
async function callFinding(lab: Lab, stream: boolean): Promise<Finding | undefined> {
  const first = await callFlaw(lab, stream, 1);
  const again = first === undefined ? undefined : await callFlaw(lab, stream, 2);
  return again === undefined ? undefined : failed(again, { tool: WEATHER_TOOL.name });
}

async function callFlaw(lab: Lab, stream: boolean, attempt: number): Promise<string | undefined> {
  const seen = await lab.ask(chatProbes.tool(lab, stream, { attempt }));
  const how = stream ? "the streamed call" : "the call";
  if (!isServed(seen)) return `${how} failed: ${describeFailure(seen)}`;
  const [call, ...more] = readChat(lab.deployment, seen)?.calls ?? [];
  if (call === undefined) return `the forced tool was not called${stream ? " in a stream" : ""}`;
  if (more.length > 0) return `${how} came ${more.length + 1} times`;
  const isAsked = call.argumentsText.includes(chooseCity(lab, stream, attempt));
  const misfit =
    findMisfit(call) ?? (isAsked ? undefined : "is about another city than was asked for");
  return misfit && `${how} ${misfit}`;
}

/** Fails two tool calls that have each other's arguments: only the weather tool has a `unit`. */
async function swappedFinding(lab: Lab, stream: boolean): Promise<Finding | undefined> {
  const seen = await lab.ask(chatProbes.bothCalls(lab, stream));
  const { calls = [] } = readChat(lab.deployment, seen) ?? {};
  const hasUnit = new Map(
    calls.map(({ name, argumentsText }) => [name, argumentsText.includes('"unit"')]),
  );
  const isSwapped = hasUnit.size === 2 && hasUnit.get(WEATHER_TOOL.name) === false;
  if (!isSwapped || ![...hasUnit.values()].includes(true)) return undefined;
  return failed("two calls of an answer have each other's arguments", { probe: seen.probe });
}

function findMisfit({ id, name, argumentsText }: ProviderCall): string | undefined {
  if (id === "") return "has no id, so that its result cannot be given";
  if (name !== WEATHER_TOOL.name) return "names another tool";
  const given = asObject(tryParse(argumentsText)?.value);
  if (given === undefined) return "has arguments that are not a JSON object";
  const { city, unit, ...others } = given;
  if (typeof city !== "string") return "has no city, which is required";
  if (unit !== "celsius" && unit !== "fahrenheit") return "has a unit that the tool does not know";
  return Object.keys(others).length > 0 ? "has arguments that the tool does not know" : undefined;
}

async function translatedFinding(lab: Lab): Promise<Finding | undefined> {
  for (const wire of otherWires(lab.deployment)) {
    for (const stream of [false, true]) {
      const seen = await lab.ask(chatProbes.tool(lab, stream, { wire }));
      if (isServed(seen) && seen.output.includes(WEATHER_TOOL.name)) continue;
      return failed(`the call does not reach a client of ${wire.id}`, { stream });
    }
  }
  return undefined;
}

async function choiceFindings(lab: Lab): Promise<readonly (Finding | undefined)[]> {
  const { deployment } = lab;
  const choices = deployment.supportedParameters.get("tool_choice");
  const mayChoose = (choice: string): boolean =>
    choices !== undefined && (choices.type !== "enum" || choices.values.includes(choice));
  const parts: (Finding | undefined)[] = [];
  const count = async (probe: Probe, allowed: AllowedCalls): Promise<void> => {
    parts.push(await countFinding(lab, probe, allowed));
  };
  for (const stream of [false, true]) {
    if (mayChoose("none")) {
      const what = "a call is made that was forbidden";
      await count(chatProbes.toolChoice(lab, "none", stream), { most: 0, what });
    }
    if (mayChoose("required")) {
      const what = "no call is made where one is required";
      await count(chatProbes.toolChoice(lab, "required", stream), { least: 1, what });
    }
    if (has(deployment, "parallel_tool_calls")) {
      const what = "two calls come where one at most was allowed";
      await count(chatProbes.singleCall(lab, stream), { most: 1, what });
    }
  }
  return parts;
}

interface AllowedCalls {
  readonly least?: number;
  readonly most?: number;
  /** The message of the finding if the answer has fewer or more calls. */
  readonly what: string;
}

async function countFinding(
  lab: Lab,
  probe: Probe,
  { least = 0, most = Number.POSITIVE_INFINITY, what }: AllowedCalls,
): Promise<Finding | undefined> {
  const ask = async (asked: Probe) => {
    const answer = await lab.ask(asked);
    const { calls: made = [] } = readChat(lab.deployment, answer) ?? {};
    return { answer, calls: made, isRight: made.length >= least && made.length <= most };
  };
  const first = await ask(probe);
  const { answer: seen, calls, isRight } = first.isRight ? first : await ask(againOf(probe));
  const evidence = { probe: probe.name, status: seen.status };
  if (!isServed(seen)) return failed(`${probe.name}: refused: ${describeFailure(seen)}`, evidence);
  if (!isRight) return failed(what, evidence);
  const ids = new Set(calls.map(({ id }) => id));
  return ids.size < calls.length || ids.has("")
    ? failed("two calls of an answer cannot be told apart by their ids", evidence)
    : undefined;
}

async function formatFinding(lab: Lab, stream: boolean): Promise<Finding | undefined> {
  const probe = chatProbes.formatted(lab, stream);
  const how = stream ? "a streamed answer" : "an answer";
  const flaw = formatFlaw(lab, await lab.ask(probe));
  const again = flaw === undefined ? flaw : formatFlaw(lab, await lab.ask(againOf(probe)));
  return again === undefined ? undefined : failed(`${how} ${again}`);
}

function formatFlaw(lab: Lab, seen: Observation): string | undefined {
  if (!isServed(seen)) return `in a format is refused: ${describeFailure(seen)}`;
  const answer = asObject(tryParse(readChat(lab.deployment, seen)?.text ?? "")?.value);
  if (answer === undefined) return "is not the JSON that was asked for";
  return fitsFormat(answer) ? undefined : "does not fit the schema that was asked for";
}

const fitsFormat = conforms(FORMAT_SCHEMA);

/** Repeats a probe, because a model may disobey once. */
function againOf(probe: Probe): Probe {
  return { ...probe, name: `${probe.name}, again` };
}
