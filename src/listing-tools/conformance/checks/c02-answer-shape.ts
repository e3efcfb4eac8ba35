import { chatProbes, otherWires } from "../chat/chat-probes.ts";
import { checkCounted } from "../chat/counted.ts";
import type { Check } from "./check.ts";
import { decisionShape } from "../decisions/decision-answers.ts";
import { failed, type Finding, passed, skipped } from "../report/finding.ts";
import { imageShape } from "../images/image-answers.ts";
import type { Lab } from "../probing/lab.ts";
import { isServed, describeFailure } from "../probing/observation.ts";
import { readChat } from "../chat/read-chat.ts";

/** C2: a whole answer has the fields of its wire, and the requested content. */
export const answerShape: Check = {
  id: "C2",
  title: "non-stream shape",
  otherwise: "a video is a job, which C11 follows",
  runs: { text: chatShape, image: imageShape, decisions: decisionShape },
};

async function chatShape(lab: Lab): Promise<Finding> {
  const { deployment } = lab;
  const seen = await lab.ask(chatProbes.short(deployment));
  const answer = readChat(deployment, seen);
  if (answer === undefined) return skipped(`there is no reader of ${deployment.wire}`);
  const evidence = { status: seen.status, flaws: answer.flaws.slice(0, 5) };
  if (seen.status !== 200)
    return failed(`a usual request is answered with ${seen.status}`, evidence);
  const [flaw] = answer.flaws;
  if (flaw !== undefined) return failed(flaw, evidence);
  if (!isServed(seen)) {
    return failed(`the gateway cannot use the answer: ${describeFailure(seen)}`);
  }
  if (answer.text === "") return failed("the answer has no text");
  for (const wire of otherWires(deployment)) {
    const translated = await lab.ask(chatProbes.short(deployment, wire));
    if (!isServed(translated)) {
      const why = describeFailure(translated);
      return failed(`the answer cannot be translated to ${wire.id}: ${why}`);
    }
  }
  return (
    (await checkCounted(lab, false)) ??
    passed("one choice with the fields of its wire, on every wire")
  );
}
