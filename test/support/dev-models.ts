import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../manifests");

export const DEV_MANIFESTS: readonly object[] = readdirSync(FOLDER)
  .filter((name) => name.startsWith("simulator-"))
  .map((name) => {
    const text = readFileSync(join(FOLDER, name), "utf8");
    return JSON.parse(text.replaceAll("http://127.0.0.1:9100", "{simulator}")) as object;
  });
