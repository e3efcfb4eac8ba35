import type { Key } from "../../../../src/account/console-api/contract.ts";

export interface ChosenKeysProps {
  readonly keys: readonly Key[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export const CHOSEN_MAX = 100;

/** Returns the chosen keys that are visible: keys that a filter hides must not be changed. */
export function pickChosen(rows: readonly Key[], chosen: ReadonlySet<string>): readonly Key[] {
  return rows.filter((key) => canBeChosen(key) && chosen.has(key.key_id));
}

export function canBeChosen({ disabled_at: disabledAt }: Pick<Key, "disabled_at">): boolean {
  return disabledAt === null;
}

export function countKeys(count: number): string {
  return count === 1 ? "1 key" : `${count} keys`;
}
