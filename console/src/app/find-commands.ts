import { recallTexts, remember } from "../ui/browser-memory.ts";

export interface Command {
  readonly id: string;
  readonly group: "IDs" | "Recent" | "Pages" | "Actions" | "Keys" | "Models" | "Docs";
  readonly label: string;
  readonly hint?: string;
  readonly keywords?: string;
}

/** Maximum number of entries shown per group, so that many models do not hide other groups. */
const GROUP_MAX = 7;
/** Groups that are always shown as a whole, because they are short. */
const WHOLE_GROUPS: ReadonlySet<Command["group"]> = new Set(["Pages", "Docs"]);

/**
 * Finds the commands that contain every word of the query. Labels that start with the query's first
 * word come first. A pasted virtual key matches by its first 12 characters.
 */
export function findCommands<C extends Command>(
  commands: readonly C[],
  query: string,
): readonly C[] {
  const words = splitWords(query);
  const found = commands
    .filter((command) => {
      const text = [command.label, command.hint ?? "", command.keywords ?? ""]
        .join("\n")
        .toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .map((command, order) => ({ command, order, rank: rankCommand(command, words) }))
    .sort((a, b) => a.rank - b.rank || a.order - b.order)
    .map(({ command }) => command);
  const best = [...new Set(found.map(({ group }) => group))];
  return best.flatMap((group) => {
    const ofGroup = found.filter((command) => command.group === group);
    return WHOLE_GROUPS.has(group) ? ofGroup : ofGroup.slice(0, GROUP_MAX);
  });
}

function splitWords(query: string): readonly string[] {
  return query
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => (/^tm_vk_[0-9a-f]{7,}/.test(word) ? word.slice(0, 12) : word));
}

function rankCommand(command: Command, words: readonly string[]): number {
  const first = words[0];
  if (first === undefined) return 0;
  const label = command.label.toLowerCase();
  if (label.startsWith(first)) return 0;
  return label.includes(first) ? 1 : 2;
}

/** While nothing has been typed, puts recently chosen commands first. `recent` has their IDs. */
export function withRecent<C extends Command>(
  commands: readonly C[],
  recent: readonly string[],
  query: string,
): readonly C[] {
  if (query.trim() !== "") return commands;
  const chosen = recent.flatMap((id) =>
    commands.filter((command) => command.id === id).slice(0, 1),
  );
  const first = chosen.map((command) => ({
    ...command,
    id: `recent ${command.id}`,
    group: "Recent" as const,
  }));
  return [...first, ...commands];
}

const NAME = "tm-recent";
const IDS_MAX = 5;

/** IDs of the commands that were last chosen in this tab's palette, newest first. */
export function readRecent(): readonly string[] {
  return recallTexts("sessionStorage", NAME);
}

export function noteRecent(id: string): void {
  const ids = [id, ...readRecent().filter((each) => each !== id)].slice(0, IDS_MAX);
  remember("sessionStorage", NAME, ids);
}
