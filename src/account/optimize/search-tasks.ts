import { askJudge, type JudgedAnswer } from "./judge.ts";

export type SearchTask =
  | { readonly kind: "answer"; readonly promptAt: number; readonly modelId: string }
  | {
      readonly kind: "judge";
      readonly promptAt: number;
      readonly question: string;
      readonly modelIds: readonly string[];
    };

/**
 * The calls of a search in their order: one prompt to every candidate before the next prompt, so
 * that a search that ends early has asked all of them the same. A judge is asked as soon as the
 * answers to a prompt are complete; they are forgotten with that.
 */
export class SearchTasks {
  readonly #searchId: string;
  readonly #prompts: readonly string[];
  readonly #modelIds: readonly string[];
  readonly #hasJudge: boolean;
  readonly #judgements: SearchTask[] = [];
  readonly #answers = new Map<number, { ended: number; readonly answers: JudgedAnswer[] }>();
  #next = 0;

  constructor(options: {
    readonly searchId: string;
    readonly prompts: readonly string[];
    readonly modelIds: readonly string[];
    readonly hasJudge: boolean;
  }) {
    this.#searchId = options.searchId;
    this.#prompts = options.prompts;
    this.#modelIds = options.modelIds;
    this.#hasJudge = options.hasJudge;
  }

  get planned(): number {
    return this.#prompts.length * (this.#modelIds.length + (this.#hasJudge ? 1 : 0));
  }

  take(): SearchTask | undefined {
    const judgement = this.#judgements.shift();
    if (judgement !== undefined) return judgement;
    const promptAt = Math.floor(this.#next / this.#modelIds.length);
    const modelId = this.#modelIds[this.#next % this.#modelIds.length];
    if (promptAt >= this.#prompts.length || modelId === undefined) return undefined;
    this.#next += 1;
    return { kind: "answer", promptAt, modelId };
  }

  promptOf(task: SearchTask): string {
    return task.kind === "judge" ? task.question : (this.#prompts[task.promptAt] ?? "");
  }

  /** Undefined text: it did not answer. Returns whether the judge's call about it is left out. */
  answered(promptAt: number, modelId: string, text: string | undefined): boolean {
    if (!this.#hasJudge) return false;
    const found = this.#answers.get(promptAt) ?? { ended: 0, answers: [] };
    this.#answers.set(promptAt, found);
    found.ended += 1;
    if (text !== undefined && text.trim() !== "") found.answers.push({ modelId, text });
    if (found.ended < this.#modelIds.length) return false;
    this.#answers.delete(promptAt);
    // One answer has nothing to be better than.
    if (found.answers.length < 2) return true;
    const prompt = this.#prompts[promptAt] ?? "";
    const seed = `${this.#searchId}:${promptAt}`;
    this.#judgements.push({ kind: "judge", promptAt, ...askJudge(prompt, found.answers, seed) });
    return false;
  }
}
