import { Option, type Command } from "commander";

import { startSimulator } from "../simulator/simulator.ts";
import { reportFault, type Flags } from "./command-context.ts";

/** `simulate`: a provider of both chat wires that costs nothing and can misbehave on request. */
export function addSimulateCommand(program: Command): void {
  program
    .command("simulate")
    .description("run the simulated provider")
    .addOption(new Option("--port <n>", "port; 0: any free one").default("9100"))
    .addOption(new Option("--wire <wire>", "speak this wire only").choices(["wire_a", "wire_b"]))
    .option("--fault <name>", "misbehave on every call; src/simulator/README.md has the language")
    .option("--json", "accepted everywhere; the ready line is JSON already")
    .action(async (flags: Flags) => {
      try {
        const { wire, fault } = flags;
        const simulator = await startSimulator({
          port: Number(flags["port"]),
          host: "127.0.0.1",
          ...(typeof wire === "string" ? { wire } : {}),
          ...(typeof fault === "string" ? { fault } : {}),
        });
        process.stderr.write(`${JSON.stringify({ msg: "ready", url: simulator.url })}\n`);
        const stop = (): void => void simulator.close().then(() => process.exit(0));
        process.on("SIGTERM", stop);
        process.on("SIGINT", stop);
      } catch (error) {
        reportFault(error);
        process.exit(2);
      }
    });
}
