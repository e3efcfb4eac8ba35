import { outputTokensTotal } from "../../../kernel/index.ts";
import {
  boundFor,
  chatProbes,
  LARGE_BOUND,
  smallBounds,
  stopWord,
  findWire,
} from "../chat/chat-probes.ts";
import type { Check } from "./check.ts";
import { failed, type Finding, passed, skipped, chooseWorst } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, type Observation } from "../probing/observation.ts";
import { readChat } from "../chat/read-chat.ts";
import type { ProviderQuestions } from "../../../formats/index.ts";

/** Some engines end an answer one token before its bound. */
const CUT_TOLERANCE = 1;

type Words = ProviderQuestions["finishes"];

/** C5: the finish reason is true, and an answer does not contain its stop sequence. */
export const finishReasons: Check = {
  id: "C5",
  title: "finish reasons",
  otherwise: "only chat answers have a finish reason",
  runs: {
    text: async (lab) => {
      const { deployment } = lab;
      const words = findWire(deployment).providerQuestions?.finishes;
      if (words === undefined) return skipped("there is no reader of this wire");
      await lab.ask(chatProbes.short(deployment));
      const parts = [
        cutFinding(lab, await lab.ask(chatProbes.long(lab, smallBounds(lab)[0])), words),
        cutFinding(lab, await lab.ask(chatProbes.long(lab, smallBounds(lab)[0], true)), words),
      ];
      for (const stream of [false, true]) {
        await lab.ask(chatProbes.long(lab, boundFor(deployment, LARGE_BOUND), stream));
        await lab.ask(chatProbes.story(lab, stream));
      }
      if (deployment.supportedParameters.has("stop")) {
        for (const stream of [false, true]) {
          parts.push(await stopFinding(lab, stream, false), await stopFinding(lab, stream, true));
        }
      }
      parts.push(...lab.seen().map((seen) => endFinding(lab, seen, words)));
      return chooseWorst(parts, passed("short, cut and stopped answers say why they ended"));
    },
  },
};

/** Fails an answer that reaches its bound but reports no cut. C9 judges longer answers. */
function cutFinding(lab: Lab, seen: Observation, { cut }: Words): Finding | undefined {
  const { deployment } = lab;
  const [bound] = smallBounds(lab);
  const answer = readChat(deployment, seen);
  if (!isServed(seen) || answer?.finish === undefined || cut.includes(answer.finish)) {
    return undefined;
  }
  const tokens = seen.usage === undefined ? undefined : outputTokensTotal(seen.usage);
  if (tokens !== bound) return undefined;
  return failed(`an answer that was cut at ${bound} tokens ends with ${answer.finish}`, {
    probe: seen.probe,
    finish: answer.finish,
    expected: cut,
    output_tokens: tokens,
  });
}

/** Fails an answer that ends neither naturally, nor with tool calls, nor at its bound. */
function endFinding({ deployment }: Lab, seen: Observation, words: Words): Finding | undefined {
  if (!seen.isPlain || !isServed(seen) || seen.wire?.id !== deployment.wire) return undefined;
  const { probe, bound, usage } = seen;
  const answer = readChat(deployment, seen);
  const finish = answer?.finish;
  if (seen.hasWrongFinish) {
    const evidence = { probe, finish: finish ?? null };
    return failed("the finish reason is missing, or is not one of its wire", evidence);
  }
  if (finish === undefined || words.stopped.includes(finish)) return undefined;
  if ((answer?.calls.length ?? 0) > 0) return undefined;
  // C3 and C4 report missing usage.
  if (usage === undefined) return undefined;
  const tokens = outputTokensTotal(usage);
  const isCut = words.cut.includes(finish);
  if (isCut && tokens >= (bound ?? 0) - CUT_TOLERANCE) return undefined;
  const message = isCut
    ? `an answer of ${tokens} tokens ends with ${finish}, below its bound of ${bound}`
    : `a short answer ends with ${finish}`;
  return failed(message, { probe, expected: words.stopped, finish });
}

async function stopFinding(
  lab: Lab,
  stream: boolean,
  isSecond: boolean,
): Promise<Finding | undefined> {
  const seen = await lab.ask(chatProbes.stopped(lab, stream, isSecond));
  const where = stream ? "a streamed answer" : "an answer";
  if (!isServed(seen))
    return failed(`${where} with a stop sequence is answered with ${seen.status}`);
  const answer = readChat(lab.deployment, seen);
  if (answer === undefined || !answer.text.includes(stopWord(lab))) return undefined;
  return failed(`${where} contains the stop sequence that should have ended it`, {
    sequence: isSecond ? "the second of two" : "the only one",
  });
}
