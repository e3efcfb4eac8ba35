import type { Command } from "commander";

import { defined, instant } from "../kernel/index.ts";
import { makeConsoleLink } from "../app/index.ts";
import {
  answering,
  clock,
  type CommandContext,
  type Flags,
  onStoredData,
  pickTexts,
} from "./command-context.ts";
import { withBackend } from "./with-backend.ts";

export function addConsoleLinkCommand(program: Command, context: CommandContext): void {
  onStoredData(program.command("console-link"))
    .description("print a link that signs you in to the console of this machine; it works once")
    .option("--email <address>", "the link works for this e-mail address only")
    .action(
      answering(context, (_, flags: Flags) =>
        withBackend(context, flags, async (backend, by, { config }) => {
          const { email } = pickTexts(flags);
          const link = await makeConsoleLink({
            config,
            backend,
            clock,
            by,
            ...defined({ email }),
          });
          const expiresAt = instant(link.expiresAtMs);
          return {
            json: { url: link.url, expires_at: expiresAt, running: link.isRunning },
            text: link.isRunning
              ? `Open this once to sign in (until ${expiresAt}):\n${link.url}`
              : "No server runs on these data now. Start it, then open this once to sign in " +
                `(until ${expiresAt}):\n${link.url}`,
          };
        }),
      ),
    );
}
