import { asNumber, asObject, asText } from "../../kernel/index.ts";
import type { Cheats } from "./cheat.ts";
import { readFaults, type FaultReading, type Faults } from "./faults.ts";
import { textsIn } from "./sim-request.ts";

interface Rule {
  readonly method: string | undefined;
  readonly path: RegExp;
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

/** The faults of later calls. Of several rules that match, the one added first applies. */
export class FaultBoard {
  readonly #cheats: Cheats;
  #rules: Rule[] = [];

  constructor(cheats: Cheats) {
    this.#cheats = cheats;
  }

  /** Adds a rule. Returns what is wrong with it; undefined if it was added. */
  add(value: unknown): string | undefined {
    const { path, method, model, fault, times } = asObject(value) ?? {};
    const script = asText(fault);
    if (script === undefined) {
      return "send {path?, method?, model?, fault, times?}, fault being a string";
    }
    const reading = readFaults(script, this.#cheats);
    if (reading.kind === "unknown") return reading.message;
    this.#rules.push({
      method: asText(method),
      path: compilePattern(asText(path)),
      model: asText(model),
      script,
      faults: reading.faults,
      left: asNumber(times) ?? Number.POSITIVE_INFINITY,
    });
    return undefined;
  }

  clear(): void {
    this.#rules = [];
  }

  /** Returns the fault for a call. If the rule that matches has `times`, uses up one of them. */
  take(call: {
    readonly method: string;
    readonly path: string;
    readonly model: string;
  }): ChosenFault {
    const { method, path, model } = call;
    const rule = this.#rules.find(
      (candidate) =>
        candidate.left > 0 &&
        (candidate.method === undefined || candidate.method === method) &&
        candidate.path.test(path) &&
        (candidate.model === undefined || candidate.model === model),
    );
    if (rule === undefined) return NONE;
    rule.left -= 1;
    return { script: rule.script, faults: rule.faults };
  }
}

/* Compiles a path pattern; `*` in it matches exactly one segment. Undefined matches all paths. */
function compilePattern(path: string | undefined): RegExp {
  const literal = path?.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${literal?.replaceAll("*", "[^/]+") ?? ".*"}$`);
}

const MARKER = /\[\[fault:(.*?)\]\]/s;

export function requestedFault(
  header: string | readonly string[] | undefined,
  userText: string,
  cheats: Cheats,
): { readonly script: string; readonly reading: FaultReading } | undefined {
  const script = asText(header) ?? MARKER.exec(userText)?.[1];
  return script === undefined ? undefined : { script, reading: readFaults(script, cheats) };
}

export function markedText(value: unknown): string {
  return textsIn(value).find((text) => MARKER.test(text)) ?? "";
}
