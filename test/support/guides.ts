import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT: string = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "docs/guides");

export type Language = "sh" | "python" | "ts";

export interface GuideSnippet {
  readonly name: string;
  readonly language: string;
  readonly code: string;
}

export function guideSnippets(): readonly GuideSnippet[] {
  const guides = readdirSync(FOLDER).map((file) => snippetsOf(file, join(FOLDER, file)));
  return [...guides.flat(), ...firstScreen()];
}

export function firstScreen(): readonly GuideSnippet[] {
  const [first = ""] = readFileSync(join(ROOT, "README.md"), "utf8").split("\n## ", 1);
  return fences("README.md", first).filter(
    ({ language, code }) => language !== "" && !code.startsWith("npm "),
  );
}

function snippetsOf(name: string, file: string): readonly GuideSnippet[] {
  return fences(name, readFileSync(file, "utf8"));
}

function fences(name: string, text: string): readonly GuideSnippet[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(
    ([, language = "", code = ""], at) => ({ name: `${name} ${at + 1}`, language, code }),
  );
}

export function codeFor(snippet: GuideSnippet, gatewayUrl: string): string {
  return snippet.code.replaceAll("http://127.0.0.1:8080", gatewayUrl);
}
