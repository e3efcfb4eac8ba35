import type { Command } from "commander";

import { answering, onStoredData, withBackend, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";

/** `migrate` */
export function addMigrateCommand(program: Command, context: CommandContext): void {
  onStoredData(program.command("migrate"))
    .description("migrate the database schema to this version")
    .action(
      answering(context, (flags: Flags) =>
        withBackend(
          context,
          flags,
          async (backend) => {
            // Opening the stores has migrated already; a second run proves there is nothing left.
            const left = await backend.migrate();
            return {
              json: { ok: true, migrated: backend.migrated, left },
              text:
                backend.migrated.length === 0
                  ? "the schema is up to date"
                  : `ran ${backend.migrated.join(", ")}`,
            };
          },
          "migrate",
        ),
      ),
    );
}
