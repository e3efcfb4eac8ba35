import { type CommandFace, type RouteContract, ROUTES } from "./contract.ts";
import { COMMANDS } from "./contract/commands.ts";
import type { CommandContract } from "./contract/shared.ts";
import type { CommandedName } from "./handler.ts";

export interface Operation {
  readonly name: CommandedName;
  readonly contract: RouteContract | CommandContract;
  readonly face: CommandFace;
}

export const OPERATIONS: readonly Operation[] = [
  ...(Object.entries(ROUTES) as [CommandedName, RouteContract][]).flatMap(([name, contract]) =>
    contract.command === undefined ? [] : [{ name, contract, face: contract.command }],
  ),
  ...(Object.entries(COMMANDS) as [CommandedName, CommandContract][]).map(([name, contract]) => ({
    name,
    contract,
    face: { usage: name, ...contract.command },
  })),
];
