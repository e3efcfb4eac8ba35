import { Type, type TString } from "typebox";
import { type Accepted, dateText, oneOf, patterns, rule } from "./schema-parts.ts";

const fileFields = {
  from: oneOf("source-from", ["litellm", "models.dev", "openrouter", "genai-prices"], {
    description: "Which public list of models it is.",
  }),
  dated: dateText("The day of which the list is."),
  sha256: hash("SHA-256 of the bytes of the list, hexadecimal."),
};

const sourceFile = Type.Object(fileFields, {
  title: "SourceFile",
  description: "One list that prices were compared with.",
  additionalProperties: false,
});
export type ManifestSourceFile = Accepted<typeof sourceFile>;
export type ManifestSourceName = ManifestSourceFile["from"];

export const catalogSourceSchema = Type.Object(
  {
    ...fileFields,
    margin_percent: Type.Optional(
      Type.String({
        pattern: patterns.margin,
        description: "Whole or decimal percent that was added to the prices of the list.",
        ...rule(
          "source-margin",
          'must be a string of 1 to 3 digits and at most 6 fraction digits, such as "10"',
        ),
      }),
    ),
    against: Type.Optional(
      Type.Array(sourceFile, {
        maxItems: 8,
        description: "Lists that had to agree.",
        ...rule("source-against", "must name at most 8 lists"),
      }),
    ),
    models: Type.Optional(
      Type.Array(
        Type.String({
          minLength: 1,
          maxLength: 128,
          description: "A pattern of model ids.",
          ...rule("source-models", "must be a string of 1 to 128 characters"),
        }),
        {
          maxItems: 256,
          description: "Patterns of the model ids that were asked for; absent means all.",
          ...rule("source-models", "must be at most 256 patterns"),
        },
      ),
    ),
    imported: Type.Unsafe<Readonly<Record<string, string>>>({
      type: "object",
      additionalProperties: hash("SHA-256 of the listing and its terms as imported."),
      description: "Model id to the hash of the listing and its terms as imported.",
    }),
  },
  {
    title: "CatalogSource",
    description:
      "Where the listings were imported from, so that they can be imported again. No other " +
      "properties.",
    additionalProperties: false,
  },
);

export type ManifestCatalogSource = Accepted<typeof catalogSourceSchema>;

function hash(description: string): TString {
  const note = rule("source-hash", "must be 64 lower-case hexadecimal digits");
  return Type.String({ pattern: patterns.sha256, description, ...note });
}
