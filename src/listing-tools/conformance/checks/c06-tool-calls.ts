import { chatProbes, otherWires, WEATHER_TOOL } from "../chat/chat-probes.ts";
import type { Check } from "./check.ts";
import { failed, type Finding, passed, skipped, worstOf } from "../report/finding.ts";
import { asObject, tryParse } from "../../../kernel/index.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, problemOf } from "../probing/observation.ts";
import type { ProviderCall } from "../../../formats/index.ts";
import { readChat } from "../chat/read-chat.ts";

/** C6: a forced tool call has arguments that fit the tool, and its result is answered. */
export const toolCalls: Check = {
  id: "C6",
  title: "tool calls",
  inapplicable: ({ modality, supportedParameters }) =>
    modality === "text" && supportedParameters.has("tools")
      ? undefined
      : "the listing does not declare tools",
  isDeclared: ({ supportedParameters }) => supportedParameters.has("tools"),
  run: async (lab) => {
    const { deployment } = lab;
    const whole = await lab.ask(chatProbes.short(deployment));
    const stream = await lab.ask(chatProbes.shortStream(deployment));
    if (!isServed(whole) || !isServed(stream))
      return skipped("usual answers are not usable (C2, C3)");
    const parts = [
      await callFinding(lab, false),
      await callFinding(lab, true),
      await translatedFinding(lab),
      await resultFinding(lab),
    ];
    return worstOf(
      parts,
      passed("forced calls fit the tool, whole and streamed; a result is answered"),
    );
  },
};

async function callFinding(lab: Lab, stream: boolean): Promise<Finding | undefined> {
  const seen = await lab.ask(chatProbes.tool(lab.deployment, stream));
  const how = stream ? "the streamed call" : "the call";
  if (!isServed(seen)) return failed(`${how} failed: ${problemOf(seen)}`);
  const [call, ...more] = readChat(lab.deployment, seen)?.calls ?? [];
  if (call === undefined)
    return failed(`the forced tool was not called${stream ? " in a stream" : ""}`);
  if (more.length > 0) return failed(`${how} came ${more.length + 1} times`);
  const misfit = misfitOf(call);
  return misfit === undefined ? undefined : failed(`${how} ${misfit}`, { tool: WEATHER_TOOL.name });
}

/** What is wrong with a call of the weather tool; undefined: nothing. */
function misfitOf({ name, argumentsText }: ProviderCall): string | undefined {
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
      const seen = await lab.ask(chatProbes.tool(lab.deployment, stream, wire));
      if (isServed(seen) && seen.output.includes(WEATHER_TOOL.name)) continue;
      return failed(`the call does not reach a client of ${wire.id}`, { stream });
    }
  }
  return undefined;
}

async function resultFinding(lab: Lab): Promise<Finding | undefined> {
  const seen = await lab.ask(chatProbes.toolAnswered(lab.deployment));
  if (!isServed(seen)) return failed(`a tool result is refused: ${problemOf(seen)}`);
  const answer = readChat(lab.deployment, seen);
  if (answer === undefined || answer.text !== "" || answer.calls.length > 0) return undefined;
  return failed("a tool result gets an empty answer");
}
