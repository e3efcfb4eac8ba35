import type { CommandAnswer } from "../command-context.ts";

/** A model that is not listed, or something to know about one that is. */
export interface ModelNote {
  readonly model: string;
  readonly code: string;
  readonly message: string;
}

/** What `manifest init` has written, or why it has written nothing. */
export interface InitResult {
  /** Undefined: nothing was written. */
  readonly file: string | undefined;
  readonly providerId: string;
  readonly listed: readonly string[];
  readonly skipped: readonly ModelNote[];
  readonly notes: readonly ModelNote[];
  /** Why nothing was written. */
  readonly issues: readonly string[];
  /** The command that checks what was written against the provider. */
  readonly conformance: string | undefined;
}

/** Skipped models and notes that a person is shown; JSON has them all. */
const SHOWN_MAX = 20;

export function initAnswer(result: InitResult): CommandAnswer {
  const { file, providerId, listed, skipped, notes, issues, conformance } = result;
  const ok = file !== undefined;
  const text = [
    ...(ok ? [`${file}: ${listed.length} models of ${providerId}`] : issues),
    ...listed.slice(0, SHOWN_MAX).map((id) => `  ${id}`),
    ...more(listed.length),
    ...notes.slice(0, SHOWN_MAX).map(({ model, message }) => `${model}: ${message}`),
    ...more(notes.length),
    ...skipped.slice(0, SHOWN_MAX).map(({ model, message }) => `not listed: ${model}: ${message}`),
    ...more(skipped.length),
    ...(conformance === undefined ? [] : [`Next, within a budget: ${conformance}`]),
  ];
  return {
    json: {
      ok,
      file: file ?? null,
      provider: providerId,
      listed,
      skipped,
      notes,
      issues,
      conformance: conformance ?? null,
    },
    text: text.join("\n"),
    exitCode: ok ? 0 : 1,
  };
}

function more(count: number): readonly string[] {
  return count > SHOWN_MAX ? [`  … and ${count - SHOWN_MAX} more; --json has them all`] : [];
}
