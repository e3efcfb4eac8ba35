import type { Backend, loadCatalog } from "../../app/index.ts";
import type { Config } from "../../kernel/index.ts";
import type { CommandIo } from "../command-context.ts";

/** `problem`: something does not work. `warning`: it works, and an operator should act. */
export type CheckLevel = "ok" | "warning" | "problem";

export interface DoctorCheck {
  readonly id: string;
  readonly level: CheckLevel;
  /** The finding and, if something is wrong, the next step. */
  readonly detail: string;
  /** Values that only `--json` prints. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface Examined {
  readonly env: CommandIo["env"];
  readonly config: Config;
  readonly loaded: ReturnType<typeof loadCatalog>;
}

/** Checks of one kind that need no database. They send nothing and change nothing. */
export type CheckGroup = (examined: Examined) => readonly DoctorCheck[];

export type DatabaseCheckGroup = (
  examined: Examined,
  backend: Backend,
) => Promise<readonly DoctorCheck[]>;

const NAMES_MAX = 5;

export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX).join(", ");
  const more = names.length - NAMES_MAX;
  return more > 0 ? `${shown} and ${more} more` : shown;
}
