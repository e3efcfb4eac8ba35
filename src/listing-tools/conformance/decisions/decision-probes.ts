import type { DecisionsListing, Deployment } from "../../../catalog/index.ts";
import { assert, asObject } from "../../../kernel/index.ts";
import { MEASURED_TEXT } from "../chat/chat-probes.ts";
import { parseFields } from "../chat/read-chat.ts";
import { renderPng, RED } from "../probing/media-files.ts";
import { type Probe, type Subject, withMembers } from "../probing/lab.ts";

export interface DecisionProbe extends Probe {
  readonly questions: readonly AskedQuestion[];
}

/** A probe whose state contains the facts it asks about, so that the true answers are known. */
export interface ToldProbe extends DecisionProbe {
  readonly truth: Readonly<Record<string, string | number | boolean>>;
}

export interface ToldState {
  /** Index of the state, from 0 to 2: a run has three states. */
  readonly at: number;
  readonly isFirst: boolean;
  /** Wrong answers to the first probe about this state. A second probe then states other facts. */
  readonly wrong?: ReadonlyMap<string, string | number>;
}

export interface AskedQuestion {
  readonly id: string;
  readonly kind: string;
  readonly body: Readonly<Record<string, unknown>>;
}

type Grammar = DecisionsListing["wire"];

/** The `state` of the probes `read` and `several` is this many copies of `MEASURED_TEXT`. */
export const STATE_COPIES = 3;

export const decisionProbes = {
  one: (deployment: Deployment): DecisionProbe =>
    asking("one question", 1, firstQuestion(deployment)),
  read: (deployment: Deployment, attempt = 1): DecisionProbe => {
    const name = `one question, longer state${attempt === 1 ? "" : ", again"}`;
    return asking(name, STATE_COPIES, firstQuestion(deployment));
  },
  several: (deployment: Deployment): DecisionProbe =>
    asking("four questions, longer state", STATE_COPIES, SEVERAL[findGrammar(deployment)]),
  /** Each state has other facts: a model that always gives one label is wrong for two of three. */
  told: ({ deployment, chance }: Subject, { at, isFirst, wrong }: ToldState): ToldProbe => {
    const pick = (name: keyof typeof TOLD): string => {
      const values = chance.shuffled(`told ${name}`, TOLD[name]);
      const value = values[at] ?? "";
      if (wrong === undefined) return value;
      return values.find((each) => each !== value && each !== wrong.get(name)) ?? "";
    };
    const [place, colour, animal] = [pick("place"), pick("colour"), pick("animal")];
    const [, other = ""] = TOLD.animal.filter((each) => each !== animal);
    const isMany = wrong === undefined ? at === 1 : Number(wrong.get("birds")) < 3;
    const birds = isMany ? 5 : 1;
    const fact = `In the ${place} a ${colour} ${animal} was seen beside ${birds} birds.`;
    const isGliner = findGrammar(deployment) === "gliner";
    const labelled = (name: keyof typeof TOLD): AskedQuestion =>
      isGliner
        ? gliner(name, "classification", { labels: TOLD[name] })
        : systemone(name, `Which ${name} does the text name?`, choiceOf(TOLD[name]));
    const named = (id: string, what: string): AskedQuestion => {
      const instructions = `Does the text name a ${what}?`;
      return isGliner
        ? gliner(id, "boolean", { instructions })
        : systemone(id, instructions, { type: "boolean" });
    };
    const questions = [
      labelled("place"),
      labelled("colour"),
      labelled("animal"),
      named("true", animal),
      named("false", other),
      isGliner
        ? gliner("things", "entities", { labels: ["animal", "colour"] })
        : systemone("birds", "How many birds does the text name?", LEVELS),
    ];
    const again = wrong === undefined ? "" : ", again";
    const name = `what state ${at + 1} says ${isFirst ? "first" : "last"}${again}`;
    const { body } = asking(name, 1, questions);
    const state = isFirst ? `${fact} ${MEASURED_TEXT}` : `${MEASURED_TEXT} ${fact}`;
    const truth = { place, colour, animal, true: true, false: false, birds };
    return { name, questions, body: { ...body, state }, truth };
  },
  kinds: (deployment: Deployment): readonly DecisionProbe[] => {
    const { readsImages } = requireDecisions(deployment);
    const ofText = KINDS[findGrammar(deployment)].map((question) =>
      asking(`question: ${question.kind}`, 1, [question]),
    );
    return readsImages ? [...ofText, boxProbe()] : ofText;
  },
  /** Two questions with one name; undefined for a format in which names are keys of an object. */
  sameName: (deployment: Deployment): Probe | undefined => {
    const { wire, form } = requireDecisions(deployment);
    if (wire === "systemone" && form === "public") return undefined;
    const [question] = firstQuestion(deployment);
    assert(question !== undefined, "a grammar has a first question");
    const { id, body } = question;
    return {
      name: "two questions of one name",
      body: { state: MEASURED_TEXT, questions: [{ name: id, ...body }] },
      changeBody: withSecondQuestion,
    };
  },
  image: (png: Buffer, name: string): Probe => ({
    name,
    body: { state: stateWith(png), questions: { colour: COLOUR_QUESTION } },
  }),
  noQuestion: (deployment: Deployment): Probe => ({
    ...decisionProbes.one(deployment),
    name: "no question",
    changeBody: withoutQuestions,
  }),
} as const;

function requireDecisions({ decisions }: Deployment): DecisionsListing {
  assert(decisions !== undefined, "a decisions listing says how it is asked");
  return decisions;
}

function findGrammar(deployment: Deployment): Grammar {
  return requireDecisions(deployment).wire;
}

function firstQuestion(deployment: Deployment): readonly AskedQuestion[] {
  return SEVERAL[findGrammar(deployment)].slice(0, 1);
}

function asking(name: string, copies: number, questions: readonly AskedQuestion[]): DecisionProbe {
  return {
    name,
    questions,
    body: {
      state: Array.from({ length: copies }, () => MEASURED_TEXT).join(" "),
      questions: Object.fromEntries(questions.map(({ id, body }) => [id, body])),
    },
  };
}

const SYSTEMONE_KINDS = {
  choice: "choice",
  boolean: "noul",
  integer: "score",
  box: "box",
} as const;

type SystemoneSchema = Readonly<Record<string, unknown>> & {
  readonly type: keyof typeof SYSTEMONE_KINDS;
};

function systemone(id: string, instructions: string, schema: SystemoneSchema): AskedQuestion {
  return { id, kind: SYSTEMONE_KINDS[schema.type], body: { instructions, schema } };
}

function choiceOf(values: readonly string[]): SystemoneSchema {
  return { type: "choice", values };
}

function gliner(id: string, kind: string, rest: AskedQuestion["body"]): AskedQuestion {
  return { id, kind, body: { type: kind, ...rest } };
}

const LEVELS: SystemoneSchema = { type: "integer", min: 1, max: 5 };

/** Each of a run's three states uses one value of each list; the filler text has none of them. */
const TOLD = {
  place: ["forest", "desert", "mountain"],
  colour: ["red", "blue", "purple"],
  animal: ["camel", "horse", "rabbit"],
} as const;

const PLACES = ["harbour", "forest", "desert"];
const TIMES = ["morning", "evening", "a whole day"];

const SEVERAL: Readonly<Record<Grammar, readonly AskedQuestion[]>> = {
  systemone: [
    systemone("place", "Which place does the text describe?", choiceOf(PLACES)),
    systemone("ships", "Are there boats in the text?", { type: "boolean" }),
    systemone("lively", "How lively is the place?", LEVELS),
    systemone("time", "Which time does the text cover?", choiceOf(TIMES)),
  ],
  gliner: [
    gliner("place", "classification", { labels: PLACES }),
    gliner("ships", "boolean", { instructions: "Are there boats in the text?" }),
    gliner("time", "classification", { labels: TIMES }),
    gliner("things", "entities", { labels: ["vehicle", "food"] }),
  ],
};

const KINDS: Readonly<Record<Grammar, readonly AskedQuestion[]>> = {
  systemone: SEVERAL.systemone.slice(0, 3),
  gliner: [
    ...[0, 1, 3].flatMap((at) => SEVERAL.gliner[at] ?? []),
    gliner("pairs", "relations", { labels: ["located in"] }),
    gliner("arrival", "structure", {
      fields: [{ name: "vehicle" }, { name: "cargo", dtype: "list" }],
    }),
  ],
};

const COLOUR_QUESTION = {
  instructions: "Which colour fills the image?",
  schema: choiceOf(["red", "green", "blue"]),
};

function stateWith(png: Buffer): unknown {
  const url = `data:image/png;base64,${png.toString("base64")}`;
  return { picture: { type: "image_url", image_url: { url } } };
}

function boxProbe(): DecisionProbe {
  const question = systemone("area", "Where is the coloured area?", { type: "box" });
  return {
    name: "question: box",
    questions: [question],
    body: { state: stateWith(renderPng(RED)), questions: { area: question.body } },
  };
}

function withSecondQuestion(body: Buffer): Buffer {
  const { questions, schema } = parseFields(body) ?? {};
  if (Array.isArray(questions))
    return withMembers(body, { questions: [...questions, ...questions] });
  const sections = asObject(schema) ?? {};
  const { classifications } = sections;
  const tasks: readonly unknown[] = Array.isArray(classifications) ? classifications : [];
  return withMembers(body, { schema: { ...sections, classifications: [...tasks, ...tasks] } });
}

function withoutQuestions(body: Buffer): Buffer {
  const isSchema = Object.hasOwn(parseFields(body) ?? {}, "schema");
  return withMembers(body, { [isSchema ? "schema" : "questions"]: {} });
}
