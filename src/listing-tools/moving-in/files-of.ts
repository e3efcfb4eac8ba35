import { stringify } from "yaml";

import { scriptOf } from "./commands.ts";
import type { MovedConfig } from "./move-litellm.ts";

/** A file of the result, by its path below the folder that it is written to. */
export interface MovedFile {
  readonly path: string;
  readonly text: string;
  /** Only its owner may run it. */
  readonly isScript: boolean;
}

/** The files of a moved configuration: the same configuration gives the same bytes. */
export function filesOf(moved: MovedConfig): MovedFile[] {
  const { manifests, pools, settings, notes, listings, commands } = moved;
  const lines = Object.fromEntries(settings.map(({ setting, value }) => [setting, value]));
  return [
    ...manifests.map((manifest) => file(`manifests/${manifest.provider.id}.json`, json(manifest))),
    ...(settings.length === 0 ? [] : [file("tokenmarket.yaml", stringify(lines))]),
    ...(pools.length === 0 ? [] : [file("pools.yaml", stringify(pools))]),
    ...(commands.length === 0 ? [] : [file("accounts.sh", scriptOf(commands), true)]),
    file("moving-in.json", json({ listings, notes })),
  ];
}

function file(path: string, text: string, isScript = false): MovedFile {
  return { path, text, isScript };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
