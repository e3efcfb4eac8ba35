import { Copy, DockerfileParser, type Instruction, JSONInstruction } from "dockerfile-ast";

/** One instruction of a stage, with its heredocs and line ends resolved. */
export type Step =
  | { readonly kind: "workdir"; readonly folder: string }
  | {
      readonly kind: "copy";
      /** The stage to copy from; undefined for the build context. */
      readonly from: string | undefined;
      readonly sources: readonly string[];
      readonly target: string;
    }
  | { readonly kind: "run"; readonly command: string };

/** The configuration with which a container of an image is started. */
export interface ImageConfig {
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
  readonly stopSignal: string;
}

export interface Stage {
  readonly name: string;
  /** Another stage's name, or an image with its digest. */
  readonly base: string;
  readonly steps: readonly Step[];
  readonly config: ImageConfig;
}

/**
 * Reads the instructions that the project's Dockerfile uses. Throws for an unknown instruction or
 * flag, because it would not be carried out.
 */
export function stagesOf(text: string): readonly Stage[] {
  const stages: StageDraft[] = [];
  for (const instruction of DockerfileParser.parse(text).getInstructions()) {
    if (instruction.getKeyword() === "FROM") stages.push(begin(instruction));
    else {
      const stage = stages.at(-1);
      if (stage === undefined) throw new Error(`line before FROM: ${instruction.toString()}`);
      add(stage, instruction);
    }
  }
  return stages;
}

interface StageDraft {
  readonly name: string;
  readonly base: string;
  readonly steps: Step[];
  readonly args: Map<string, string>;
  config: ImageConfig;
}

const NOTHING: ImageConfig = {
  env: {},
  user: "0:0",
  entrypoint: [],
  command: [],
  healthcheck: [],
  stopSignal: "SIGTERM",
};

function begin(instruction: Instruction): StageDraft {
  const [base = "", word = "", name = "", ...more] = wordsOf(instruction);
  if (word !== "AS" || name === "" || more.length > 0) throw unknown(instruction);
  return { name, base, steps: [], args: new Map(), config: NOTHING };
}

function add(stage: StageDraft, instruction: Instruction): void {
  const words = wordsOf(instruction);
  const only = (): string => {
    if (words.length !== 1) throw unknown(instruction);
    return words[0] ?? "";
  };
  const set = (changed: Partial<ImageConfig>): void => {
    stage.config = { ...stage.config, ...changed };
  };
  switch (instruction.getKeyword()) {
    case "WORKDIR":
      stage.steps.push({ kind: "workdir", folder: only() });
      return;
    case "COPY":
      stage.steps.push(copyOf(instruction, words));
      return;
    case "RUN":
      stage.steps.push({ kind: "run", command: textOf(instruction) });
      return;
    case "ARG": {
      for (const [name, value] of pairsOf(instruction, words, stage.args))
        stage.args.set(name, value);
      return;
    }
    case "ENV": {
      const pairs = pairsOf(instruction, words, stage.args);
      return set({ env: { ...stage.config.env, ...Object.fromEntries(pairs) } });
    }
    case "USER":
      return set({ user: only() });
    case "STOPSIGNAL":
      return set({ stopSignal: only() });
    case "ENTRYPOINT":
      return set({ entrypoint: jsonOf(instruction) });
    case "CMD":
      return set({ command: jsonOf(instruction) });
    case "HEALTHCHECK":
      return set({ healthcheck: checkOf(instruction) });
    case "EXPOSE":
    case "VOLUME":
      return;
    default:
      throw unknown(instruction);
  }
}

function copyOf(instruction: Instruction, words: readonly string[]): Step {
  if (!(instruction instanceof Copy)) throw unknown(instruction);
  const [flag, ...others] = instruction.getFlags();
  if (others.length > 0 || (flag !== undefined && flag.getName() !== "from")) {
    throw unknown(instruction);
  }
  const from = flag?.getValue() ?? undefined;
  return { kind: "copy", from, sources: words.slice(0, -1), target: words.at(-1) ?? "" };
}

/** Reads `NAME=value` pairs; a value is literal, or `$NAME` of an argument with a default. */
function pairsOf(
  instruction: Instruction,
  words: readonly string[],
  args: ReadonlyMap<string, string>,
): readonly (readonly [string, string])[] {
  return words.map((word) => {
    const [, name = "", sign, value = ""] = /^([A-Z_]+)=(\$?)([^"'$]*)$/.exec(word) ?? [];
    const resolved = sign === "$" ? args.get(value) : value;
    if (name === "" || resolved === undefined) throw unknown(instruction);
    return [name, resolved];
  });
}

function checkOf(instruction: Instruction): readonly string[] {
  const command = /CMD (\[.*\])$/.exec(textOf(instruction))?.[1];
  if (command === undefined) throw unknown(instruction);
  return JSON.parse(command) as string[];
}

/** Accepts only the exec form, because the other form needs a shell, which an image may lack. */
function jsonOf(instruction: Instruction): readonly string[] {
  if (!(instruction instanceof JSONInstruction)) throw unknown(instruction);
  return instruction.getJSONStrings().map((each) => each.getJSONValue());
}

function wordsOf(instruction: Instruction): readonly string[] {
  return textOf(instruction).split(/\s+/);
}

/** The arguments of an instruction on one line. */
function textOf(instruction: Instruction): string {
  return (instruction.getRawArgumentsContent() ?? "").replaceAll(/\\\n\s*/g, "");
}

function unknown(instruction: Instruction): Error {
  const line = instruction.getRange().start.line + 1;
  return new Error(`Dockerfile, line ${line}: the test cannot carry out ${instruction.toString()}`);
}
