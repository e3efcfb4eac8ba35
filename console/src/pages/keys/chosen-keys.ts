import type { Key } from "../../../../src/account/console-api/contract.ts";

/** What a dialog for several keys is about. */
export interface ChosenKeysProps {
  readonly keys: readonly Key[];
  readonly onClose: () => void;
  /** The change is made: nothing is chosen any more. */
  readonly onDone: () => void;
}

/** As many keys are changed by one request. */
export const CHOSEN_MAX = 100;

/** Those of these keys that are chosen and can be changed. A key that a filter hides is not. */
export function chosenOf(rows: readonly Key[], chosen: ReadonlySet<string>): readonly Key[] {
  return rows.filter((key) => canBeChosen(key) && chosen.has(key.key_id));
}

/** What is disabled cannot be changed. */
export function canBeChosen({ disabled_at: disabledAt }: Pick<Key, "disabled_at">): boolean {
  return disabledAt === null;
}

export function countKeys(count: number): string {
  return count === 1 ? "1 key" : `${count} keys`;
}
