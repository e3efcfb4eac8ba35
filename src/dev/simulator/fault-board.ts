import { asText } from "../../kernel/index.ts";
import type { Cheats } from "./cheat.ts";
import { readFaults, type FaultReading, type Faults } from "./faults.ts";
import { isObject } from "./json.ts";

interface Rule {
  readonly method: string | undefined;
  readonly path: RegExp | undefined;
  readonly model: string | undefined;
  readonly script: string;
  readonly faults: Faults;
  left: number;
}

export interface ChosenFault {
  readonly script: string | null;
  readonly faults: Faults;
}

/** The call that rules are matched against. */
export interface FaultedCall {
  readonly method: string;
  readonly path: string;
  readonly model: string;
}

const NONE: ChosenFault = { script: null, faults: {} };

/** Faults that were scripted ahead, by path, by model or for every call; the first match wins. */
export class FaultBoard {
  readonly #cheats: Cheats;
  #rules: Rule[] = [];

  constructor(cheats: Cheats) {
    this.#cheats = cheats;
  }

  /** Adds `{path?, method?, model?, fault, times?}`; returns what is wrong, if anything is. */
  add(value: unknown): string | undefined {
    if (!isObject(value) || typeof value["fault"] !== "string") {
      return "send {path?, method?, model?, fault, times?}, fault being a string";
    }
    const { path, method, model, fault, times } = value;
    const reading = readFaults(fault, this.#cheats);
    if (reading.kind === "unknown") return reading.message;
    this.#rules.push({
      method: asText(method),
      path: typeof path === "string" ? compilePattern(path) : undefined,
      model: asText(model),
      script: fault,
      faults: reading.faults,
      left: typeof times === "number" ? times : Number.POSITIVE_INFINITY,
    });
    return undefined;
  }

  clear(): void {
    this.#rules = [];
  }

  /** The fault of the next call, and one of its `times` used up. */
  take({ method, path, model }: FaultedCall): ChosenFault {
    const rule = this.#rules.find(
      (candidate) =>
        candidate.left > 0 &&
        (candidate.method === undefined || candidate.method === method) &&
        (candidate.path === undefined || candidate.path.test(path)) &&
        (candidate.model === undefined || candidate.model === model),
    );
    if (rule === undefined) return NONE;
    rule.left -= 1;
    return { script: rule.script, faults: rule.faults };
  }
}

/* A path as written, but for `*`, which is any one segment. */
function compilePattern(path: string): RegExp {
  const literal = path.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${literal.replaceAll("*", "[^/]+")}$`);
}

const MARKER = /\[\[fault:(.*?)\]\]/s;

/** The fault script that a caller wrote into a header or into the text, header first. */
export function requestedFault(
  header: string | readonly string[] | undefined,
  userText: string,
  cheats: Cheats,
): { readonly script: string; readonly reading: FaultReading } | undefined {
  const script = typeof header === "string" ? header : MARKER.exec(userText)?.[1];
  return script === undefined ? undefined : { script, reading: readFaults(script, cheats) };
}

/** The first text under `value` that has a fault script in it; empty when none has. */
export function markedText(value: unknown): string {
  if (typeof value === "string") return MARKER.test(value) ? value : "";
  const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  return inner.map(markedText).find((text) => text !== "") ?? "";
}
