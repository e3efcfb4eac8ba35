import { readFaults, type FaultReading, type Faults } from "./faults.ts";
import { isObject } from "./json.ts";

interface Rule {
  readonly path: string | undefined;
  readonly model: string | undefined;
  readonly script: string;
  readonly faults: Faults;
  left: number;
}

export interface ChosenFault {
  readonly script: string | null;
  readonly faults: Faults;
}

const NONE: ChosenFault = { script: null, faults: {} };

/** Faults that were scripted ahead, by path, by model or for every call; the first match wins. */
export class FaultBoard {
  private rules: Rule[] = [];

  /** Adds `{path?, model?, fault, times?}`; gives back what is wrong with it, if anything is. */
  add(value: unknown): string | undefined {
    if (!isObject(value) || typeof value["fault"] !== "string") {
      return "send {path?, model?, fault, times?}, fault being a string";
    }
    const { path, model, fault, times } = value;
    const reading = readFaults(fault);
    if (reading.kind === "unknown") return reading.message;
    this.rules.push({
      path: typeof path === "string" ? path : undefined,
      model: typeof model === "string" ? model : undefined,
      script: fault,
      faults: reading.faults,
      left: typeof times === "number" ? times : Number.POSITIVE_INFINITY,
    });
    return undefined;
  }

  clear(): void {
    this.rules = [];
  }

  /** The fault of the next call, and one of its `times` used up. */
  take(path: string, model: string): ChosenFault {
    const rule = this.rules.find(
      (candidate) =>
        candidate.left > 0 &&
        (candidate.path === undefined || candidate.path === path) &&
        (candidate.model === undefined || candidate.model === model),
    );
    if (rule === undefined) return NONE;
    rule.left -= 1;
    return { script: rule.script, faults: rule.faults };
  }
}

const MARKER = /\[\[fault:(.*?)\]\]/s;

/** The fault script that a caller wrote into a header or into the text, header first. */
export function requestedFault(
  header: string | readonly string[] | undefined,
  userText: string,
): { readonly script: string; readonly reading: FaultReading } | undefined {
  const script = typeof header === "string" ? header : MARKER.exec(userText)?.[1];
  return script === undefined ? undefined : { script, reading: readFaults(script) };
}
