import type { Key } from "../../../../src/account/console-api/contract.ts";

/** The subject of a dialog for several keys. */
export interface ChosenKeysProps {
  readonly keys: readonly Key[];
  readonly onClose: () => void;
  /** The change is made: nothing is chosen any more. */
  readonly onDone: () => void;
}

/** As many keys are changed by one request. */
export const CHOSEN_MAX = 100;

/** The chosen keys that can be changed. A key that a filter hides is not. */
export function pickChosen(rows: readonly Key[], chosen: ReadonlySet<string>): readonly Key[] {
  return rows.filter((key) => canBeChosen(key) && chosen.has(key.key_id));
}

/** A disabled key cannot be changed. */
export function canBeChosen({ disabled_at: disabledAt }: Pick<Key, "disabled_at">): boolean {
  return disabledAt === null;
}

export function countKeys(count: number): string {
  return count === 1 ? "1 key" : `${count} keys`;
}
