import { otherKinds, refusedProviders } from "../../src/listing-tools/moving-in/find-provider.ts";
import { openrouterFields } from "../../src/listing-tools/moving-in/match-openrouter.ts";
import { settingGroups } from "../../src/listing-tools/moving-in/fates.ts";
import { code, page, table } from "./markdown.ts";

const FATES = { carried: "carried", ignored: "ignored", not_carried: "not carried" } as const;
const FIELD_FATES = {
  as_sent: "taken as sent",
  other_name: "another name",
  dropped: "dropped and named",
  none: "refused, by name",
} as const;

/** docs/reference/moving-in.md, from the tables that the importers read. */
export function movingInPage(): string {
  const settings = settingGroups.map(({ in: place, keys, fate, what, why, next }) => [
    place === "" ? "the file" : code(place),
    keys.map(code).join(", "),
    FATES[fate],
    what,
    why,
    next,
  ]);
  const fields = openrouterFields.map(({ in: place, name, fate, why, next }) => [
    code(place === "body" ? name : `provider.${name}`),
    FIELD_FATES[fate],
    why,
    next,
  ]);
  const kinds = Object.entries(otherKinds).map(([mode, makes]) => [code(mode), makes]);
  const providers = Object.entries(refusedProviders).map(([name, why]) => [code(name), why]);
  const heading = ["In", "Setting", "Here", "What it is", "Becomes, or why not", "Instead"];
  return page(
    "Moving in, setting by setting",
    "Source: the tables of `src/listing-tools/moving-in/`. How to move is in [operating/moving-in.md](../operating/moving-in.md). " +
      "A setting of LiteLLM that is not listed is named by the import as unknown. A `*` means any characters.",
    [
      `## Settings of LiteLLM\n\n${table(heading, settings)}`,
      `## Models of LiteLLM that are not moved, by their \`mode\`\n\n${table(["Mode", "It makes"], kinds)}`,
      `## Providers of LiteLLM that have no counterpart\n\n${table(["Provider", "Why, and what to do"], providers)}`,
      `## Fields of OpenRouter's requests\n\n${table(["Field", "Here", "Why", "Instead"], fields)}`,
    ].join("\n\n"),
  );
}
