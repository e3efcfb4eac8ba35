import type { Deployment } from "../../../catalog/index.ts";
import { outputTokensTotal } from "../../../kernel/index.ts";
import {
  boundFor,
  chatProbes,
  SHORT_ANSWER_TOKENS,
  STOP_WORD,
  wireOf,
} from "../chat/chat-probes.ts";
import type { Check } from "./check.ts";
import { failed, type Finding, passed, skipped, worstOf } from "../report/finding.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, type Observation } from "../probing/observation.ts";
import { readChat } from "../chat/read-chat.ts";
import type { ProviderQuestions } from "../../../formats/index.ts";

const SMALL_BOUND = 5;

interface Asked {
  readonly lab: Lab;
  readonly words: ProviderQuestions["finishes"];
}

/** C5: an answer says truly why it ended, and a stop sequence is not in it. */
export const finishReasons: Check = {
  id: "C5",
  title: "finish reasons",
  inapplicable: ({ modality }) =>
    modality === "text" ? undefined : "only chat answers have a finish reason",
  run: async (lab) => {
    const words = wireOf(lab.deployment).providerQuestions?.finishes;
    if (words === undefined) return skipped("there is no reader of this wire");
    const parts = [
      await endedFinding({ lab, words }),
      await cutFinding({ lab, words }),
      await stopFinding(lab, false),
      await stopFinding(lab, true),
    ];
    return worstOf(parts, passed("short, cut and stopped answers say why they ended"));
  },
};

/** A model that speaks until it is cut is truly cut, even where a word was asked for. */
async function endedFinding({ lab, words }: Asked): Promise<Finding | undefined> {
  const { deployment } = lab;
  const { stopped, cut } = words;
  const seen = await lab.ask(chatProbes.short(deployment));
  const finish = finishOf(deployment, seen);
  if (!isServed(seen) || finish === undefined || stopped.includes(finish)) return undefined;
  const tokens = seen.usage === undefined ? 0 : outputTokensTotal(seen.usage);
  if (cut.includes(finish) && tokens >= boundFor(deployment, SHORT_ANSWER_TOKENS)) return undefined;
  return failed(`a short answer ends with ${finish}`, { expected: stopped, finish });
}

/** Only of an answer that its bound did cut: a longer one is C9's, a shorter one ended by itself. */
async function cutFinding({ lab, words }: Asked): Promise<Finding | undefined> {
  const { cut } = words;
  const seen = await lab.ask(chatProbes.long(lab.deployment, SMALL_BOUND));
  const answer = readChat(lab.deployment, seen);
  if (!isServed(seen) || answer?.finish === undefined || cut.includes(answer.finish))
    return undefined;
  const tokens = seen.usage === undefined ? undefined : outputTokensTotal(seen.usage);
  if (tokens !== SMALL_BOUND) return undefined;
  const evidence = { finish: answer.finish, expected: cut, output_tokens: tokens };
  return failed(
    `an answer that was cut at ${SMALL_BOUND} tokens ends with ${answer.finish}`,
    evidence,
  );
}

async function stopFinding(lab: Lab, stream: boolean): Promise<Finding | undefined> {
  const seen = await lab.ask(chatProbes.stopped(lab.deployment, stream));
  const answer = readChat(lab.deployment, seen);
  if (!isServed(seen) || answer === undefined || !answer.text.includes(STOP_WORD)) return undefined;
  const where = stream ? "a streamed answer" : "an answer";
  return failed(`${where} contains the stop sequence that should have ended it`);
}

function finishOf(deployment: Deployment, seen: Observation): string | undefined {
  return readChat(deployment, seen)?.finish;
}
