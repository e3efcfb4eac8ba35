import { outputTokensTotal } from "../../../kernel/index.ts";
import { boundFor, chatProbes, LARGE_BOUND, smallBounds } from "../chat/chat-probes.ts";
import type { Check } from "./check.ts";
import { failed, type Finding, passed, warned, chooseWorst } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, type Observation } from "../probing/observation.ts";

/** C9: no answer is longer than its bound, from which reserves and spending caps are computed. */
export const outputBound: Check = {
  id: "C9",
  title: "output bound honoured",
  otherwise: "only chat has an output bound",
  runs: {
    text: async (lab) => {
      const asked = [1, ...smallBounds(lab), LARGE_BOUND];
      const bounds = [...new Set(asked.map((bound) => boundFor(lab.deployment, bound)))];
      const parts: (Finding | undefined)[] = [];
      for (const bound of bounds) {
        parts.push(await boundFinding(lab, bound, false), await boundFinding(lab, bound, true));
      }
      parts.push(...lab.seen().map(excessFinding));
      const sure = passed(`no answer is longer than its bound of ${bounds.join(", ")} tokens`);
      return chooseWorst(parts, sure);
    },
  },
};

async function boundFinding(
  lab: Lab,
  bound: number,
  stream: boolean,
): Promise<Finding | undefined> {
  const seen = await lab.ask(chatProbes.long(lab, bound, stream));
  const { status } = seen;
  // Only a 4xx means that the provider refuses the bound. C2 judges answers that cannot be read.
  if (isServed(seen) || status === null || status < 400 || status >= 500) return undefined;
  return warned(`a bound of ${bound} tokens is refused with ${status}`, { bound, status });
}

function excessFinding(seen: Observation): Finding | undefined {
  const { bound, usage, probe } = seen;
  if (!isServed(seen) || bound === undefined || usage === undefined) return undefined;
  const tokens = outputTokensTotal(usage);
  if (tokens <= bound) return undefined;
  const message = `${tokens} output tokens are billed where ${bound} were allowed`;
  return failed(message, { bound, tokens, probe });
}
