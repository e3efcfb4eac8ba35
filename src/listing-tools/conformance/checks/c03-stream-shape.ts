import { boundFor, chatProbes, LARGE_BOUND, otherWires } from "../chat/chat-probes.ts";
import { checkCounted } from "../chat/counted.ts";
import type { Check } from "./check.ts";
import { failed, passed, skipped, warned } from "../report/finding.ts";
import { isServed, describeFailure } from "../probing/observation.ts";
import { readChat } from "../chat/read-chat.ts";

/** C3: a stream has the events of its wire in their order, one end, and usage in its last part. */
export const streamShape: Check = {
  id: "C3",
  title: "stream shape and terminal usage",
  otherwise: "only chat answers stream",
  runs: {
    text: async (lab) => {
      const { deployment } = lab;
      const seen = await lab.ask(chatProbes.shortStream(deployment));
      const answer = readChat(deployment, seen);
      if (answer === undefined) return skipped(`there is no reader of ${deployment.wire}`);
      const [flaw] = answer.flaws;
      if (flaw !== undefined)
        return failed(flaw, { status: seen.status, flaws: answer.flaws.slice(0, 5) });
      if (!isServed(seen)) {
        return failed(`the gateway cannot use the stream: ${describeFailure(seen)}`);
      }
      if (answer.usage === undefined) return failed("the stream ends without usage");
      if (answer.finish === undefined) return failed("the stream ends without a finish reason");
      if (answer.text === "") return failed("the stream has no text");
      for (const wire of otherWires(deployment)) {
        const translated = await lab.ask(chatProbes.shortStream(deployment, wire));
        if (!isServed(translated)) {
          return failed(
            `the stream cannot be translated to ${wire.id}: ${describeFailure(translated)}`,
          );
        }
      }
      const counted = await checkCounted(lab, true);
      if (counted !== undefined) return counted;
      const { pieces } = await lab.ask(
        chatProbes.long(lab, boundFor(deployment, LARGE_BOUND), true),
      );
      if (pieces === 1) {
        return warned("the whole stream came in one piece", { pieces });
      }
      return passed(`one end mark, usage and finish reason ${answer.finish}`, { pieces });
    },
  },
};
