import type { Command } from "commander";

import type { FeedStatus } from "../ledger/index.ts";
import {
  answering,
  type CommandAnswer,
  type Flags,
  onStoredData,
  withBackend,
} from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

/** `feed enable`, `feed status`, `feed disable` */
export function addFeedCommand(program: Command, context: CommandContext): void {
  const feed = program
    .command("feed")
    .description("publish ended attempts and transfers to a warehouse");
  const verbs = {
    enable: "create the publication tm_facts; the database needs wal_level = logical",
    status: "say whether it is there, and how much log its readers keep back",
    disable: "drop the publication",
  } as const;
  for (const [verb, description] of Object.entries(verbs)) {
    onStoredData(feed.command(verb))
      .description(description)
      .action(
        answering(context, (flags: Flags) =>
          withBackend(context, flags, async ({ feed: facts }, by) =>
            answerOf(
              verb === "enable"
                ? await facts.enable(by)
                : verb === "disable"
                  ? await facts.disable(by)
                  : await facts.status(),
            ),
          ),
        ),
      );
  }
}

function answerOf({ isEnabled, walLevel, slots }: FeedStatus): CommandAnswer {
  return {
    json: {
      enabled: isEnabled,
      wal_level: walLevel,
      slots: slots.map(({ name, isActive, keptBytes }) => ({
        name,
        active: isActive,
        kept_bytes: keptBytes,
      })),
    },
    text: [
      `publication tm_facts: ${isEnabled ? "there" : "not there"}; wal_level ${walLevel}`,
      ...slots.map(
        ({ name, isActive, keptBytes }) =>
          `slot ${name}: ${isActive ? "read" : "not read"}, keeps ${keptBytes} bytes of log`,
      ),
    ].join("\n"),
  };
}
