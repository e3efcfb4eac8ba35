import {
  arrayText,
  joinTokens,
  type JsonDocument,
  type JsonNode,
  type JsonText,
  objectText,
  textToken,
} from "../../json/index.ts";
import { isFilledText, problem, type Problem, under } from "../../wire/index.ts";
import {
  checkMember,
  isProblem,
  type Member,
  type Members,
  readMembers,
  type Spellings,
  spellings,
} from "./members.ts";
import { atEntry, type Entry, nameFields } from "./question-entries.ts";
import { isContent, parsed, type ReadQuestion, labelProblem } from "./read-question.ts";
import {
  flatTypes,
  readTyped,
  schemaTypes,
  type SystemOneQuestion,
  type Typed,
} from "./systemone-types.ts";

/** Reads a question with a `schema`, or one in the flat public form. */
export function readSystemOneQuestion(
  doc: JsonDocument,
  entry: Entry,
): ReadQuestion<SystemOneQuestion> | Problem {
  const read = idProblem(entry) ?? readAsked(doc, entry);
  if (isProblem(read)) return atEntry(entry, read);
  const { instructions } = read;
  const { asked, kind, criteria, labels, scoreFrom } = read.typed;
  const question: SystemOneQuestion = {
    wire: "systemone",
    id: entry.id,
    kind,
    asked,
    instructions: instructions === undefined ? undefined : parsed(instructions),
    criteria: criteria === undefined ? undefined : parsed(criteria),
    ...(labels !== undefined && { labels }),
    ...(scoreFrom !== undefined && { scoreFrom }),
  };
  const encoded = objectText({ type: textToken(kind), instructions, criteria });
  return { question, entry, encoded };
}

const ID_PATTERN = /^[A-Za-z0-9_.-]{1,100}$/;

function idProblem({ id }: Entry): Problem | undefined {
  if (ID_PATTERN.test(id)) return labelProblem(id);
  return problem("a question id is 1 to 100 of the characters A-Z a-z 0-9 _ . -");
}

interface Asked {
  readonly typed: Typed;
  readonly instructions: JsonText | undefined;
}

function readAsked(doc: JsonDocument, { node, isInArray }: Entry): Asked | Problem {
  const members = readMembers(doc, node, isInArray ? itemNames : questionNames);
  if (isProblem(members)) return members;
  const sent = members.get("schema");
  if (sent !== undefined) return readSchema(doc, members, sent);
  if (!members.has("type") && !members.has("criteria")) return schemaMissing;
  const typed = readTyped(doc, members, flatTypes);
  return isProblem(typed) ? typed : withInstructions(doc, typed, { members });
}

export const schemaMissing: Problem = problem(
  "is required: each question of this model carries a schema",
  "schema",
);

function readSchema(doc: JsonDocument, members: Members, { sent, node }: Member): Asked | Problem {
  const beside = members.get("type") ?? members.get("criteria");
  if (beside !== undefined) return problem("belongs in the schema; move it there", beside.sent);
  const schema = readMembers(doc, node, schemaNames);
  if (isProblem(schema)) return under(sent, schema);
  const typed = readTyped(doc, schema, schemaTypes);
  if (isProblem(typed)) return under(sent, typed);
  const found = checkMember(schema, "description", (text) => isFilledText(doc, text));
  if (found !== undefined) return under(sent, found);
  return withInstructions(doc, typed, { members, description: schema.get("description") });
}

const flatNames = {
  instructions: "instructions",
  question: "instructions",
  prompt: "instructions",
  text: "instructions",
  type: "type",
  kind: "type",
  criteria: "criteria",
};
const questionNames: Spellings = spellings({ ...flatNames, schema: "schema" });
/** Items of an array bring their name: it was read with their place. */
const itemNames: Spellings = new Map([...questionNames, ...nameFields]);
const schemaNames: Spellings = spellings({
  type: "type",
  description: "description",
  criteria: "criteria",
  values: "values",
  enum: "enum",
  min: "min",
  max: "max",
});

interface Sources {
  readonly members: Members;
  readonly description?: Member | undefined;
}

/** The instructions with the schema's description behind them; required unless there are criteria. */
function withInstructions(
  doc: JsonDocument,
  typed: Typed,
  { members, description }: Sources,
): Asked | Problem {
  const found = checkMember(members, "instructions", (node) => isContent(doc, node));
  if (found !== undefined) return found;
  const parts = [members.get("instructions"), description].flatMap((part) => part?.node ?? []);
  if (parts.length === 0 && !typed.hasCriteria) {
    return problem("required: what to decide about the state", "instructions");
  }
  return { typed, instructions: folded(doc, parts) };
}

function folded(doc: JsonDocument, parts: readonly JsonNode[]): JsonText | undefined {
  const texts = parts.map((part) => doc.raw(part));
  if (texts.length < 2) return texts[0];
  return parts.every((part) => doc.isString(part)) ? joinTokens(texts, "\\n\\n") : arrayText(texts);
}
