import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Command } from "commander";
import { describe, expect, test } from "vitest";

import { actionNames } from "../src/kernel/changes/actions.ts";
import { ROUTES } from "../src/account/console-api/contract.ts";
import { gatewayRoutes } from "../src/gateway/http/gateway-routes.ts";
import * as doors from "./support/change-doors.ts";
import { allCommands } from "./support/terminal.ts";

function commandsOf(command: Command, path: readonly string[] = []): readonly string[] {
  if (command.commands.length === 0) return [path.join(" ")];
  return command.commands.flatMap((each) => commandsOf(each, [...path, each.name()]));
}

describe("an action of the change log is declared for", () => {
  test("every command, unless it is listed as read-only or unrecorded", async () => {
    const known = [
      ...Object.keys(doors.OPERATION_COMMANDS),
      ...Object.keys(doors.WRITING_COMMANDS),
      ...doors.READING_COMMANDS,
      ...doors.UNRECORDED_COMMANDS,
    ];
    expect(commandsOf(await allCommands()).toSorted()).toEqual(known.toSorted());
  });

  test("every non-GET route of the console's contract, unless it is listed as read-only", () => {
    const unsafe = Object.keys(ROUTES).filter((name) => !name.startsWith("GET "));
    const listed = [...Object.keys(doors.WRITING_CONSOLE_ROUTES), ...doors.READING_CONSOLE_ROUTES];
    expect(listed.filter((name) => !name.startsWith("GET ")).toSorted()).toEqual(unsafe.toSorted());
    expect(Object.keys(ROUTES)).toEqual(expect.arrayContaining(listed));
  });

  test("every POST, PUT, PATCH or DELETE route of the console outside its contract", () => {
    const folder = join(import.meta.dirname, "../src/account/console-api");
    const found = readdirSync(folder)
      .filter((file) => file.endsWith("-routes.ts"))
      .flatMap((file) => [
        ...readFileSync(join(folder, file), "utf8").matchAll(
          /\b(?:app|scope)\.(post|put|patch|delete)\(\s*"([^"]+)"/g,
        ),
      ])
      .map(([, method = "", path]) => `${method.toUpperCase()} ${path}`);
    const listed = Object.keys(doors.OTHER_WRITING_ROUTES);
    expect(found.length).toBeGreaterThan(2);
    expect(listed).toEqual(expect.arrayContaining(found));
  });

  test("every non-GET route of the gateway, unless it is listed as a model call", () => {
    // The table is built with empty dependencies, because no route is called.
    const { routes } = gatewayRoutes({ current: {} } as never, {} as never);
    const unsafe = routes.filter(({ method }) => method !== "GET");
    const names = unsafe.map(({ method, path }) => `${method} ${path}`);
    const known = [...Object.keys(doors.WRITING_GATEWAY_ROUTES), ...doors.CALLING_GATEWAY_ROUTES];
    expect(names.toSorted()).toEqual(known.toSorted());
  });
});

test("every action of the change log has a command or a route", () => {
  const ways = [
    doors.OPERATION_COMMANDS,
    doors.WRITING_COMMANDS,
    doors.WRITING_CONSOLE_ROUTES,
    doors.OTHER_WRITING_ROUTES,
    doors.WRITING_GATEWAY_ROUTES,
  ].flatMap((map) => Object.values(map).flat());
  expect([...new Set(ways)].toSorted()).toEqual(actionNames().toSorted());
});
