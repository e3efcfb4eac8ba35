import type { Command } from "commander";

import { answering, type Flags } from "./command-context.ts";
import type { CommandContext } from "./command-io.ts";
import { importLitellm } from "./import-litellm.ts";
import { importOpenrouter } from "./import-openrouter.ts";

/** `import litellm CONFIG`, `import openrouter FILE|MODEL…` */
export function addImportCommand(program: Command, context: CommandContext): void {
  const group = program.command("import").description("move in from another gateway");
  group
    .command("litellm <config>")
    .description(
      "make manifests, settings and commands of a LiteLLM configuration, and name everything that " +
        "cannot be carried over; exit 1 when no model could be listed",
    )
    .option("--keys <file>", "the answer of LiteLLM's /key/list?return_full_object=true")
    .option("--teams <file>", "the answer of LiteLLM's /team/list")
    .option("--prices <file>", "LiteLLM's model_prices_and_context_window.json, for other models")
    .option("--write <folder>", "write the result there; no file is overwritten")
    .option("--json", "print one JSON document on standard output")
    .action(
      answering(context, (config: string, flags: Flags) => importLitellm(context, config, flags)),
    );
  group
    .command("openrouter <models...>")
    .description(
      "find the listings of models by their OpenRouter ids, or of a file with its model list; " +
        "exit 1 when one has none",
    )
    .option("--manifests <folder>", "folder of provider manifests (default ./manifests)")
    .option("--json", "print one JSON document on standard output")
    .action(
      answering(context, (models: string[], flags: Flags) =>
        importOpenrouter(context, models, flags),
      ),
    );
}
