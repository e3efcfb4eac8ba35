import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

const SOURCES = join(import.meta.dirname, "../console/src");
const STYLES = join(import.meta.dirname, "../node_modules/@mantine/core/styles");

/** What a component is built on; its own styles alone would leave it bare. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  Autocomplete: ["Combobox", "Input", "Popover", "ScrollArea"],
  Checkbox: ["InlineInput"],
  Drawer: ["ModalBase", "Overlay"],
  Menu: ["Popover"],
  Modal: ["ModalBase", "Overlay"],
  MultiSelect: ["Combobox", "Input", "PillsInput", "Pill", "Popover", "ScrollArea"],
  NativeSelect: ["Input"],
  NumberInput: ["Input"],
  PasswordInput: ["Input"],
  Radio: ["InlineInput"],
  SegmentedControl: ["FloatingIndicator"],
  Select: ["Combobox", "Input", "Popover", "ScrollArea"],
  Switch: ["InlineInput"],
  TagsInput: ["Combobox", "Input", "PillsInput", "Pill", "Popover", "ScrollArea"],
  Textarea: ["Input"],
  TextInput: ["Input"],
};

test("every component that a page shows has its styles in the console", () => {
  const bare = [...wanted()].filter((name) => !imported().has(name));
  expect(bare).toEqual([]);
});

test("nobody waits for the styles of a component that no page shows", () => {
  // The base, and what another package of the library shows.
  const base = new Set(["baseline", "global", "Notification"]);
  const shown = wanted();
  const idle = [...imported()].filter((name) => !shown.has(name) && !base.has(name));
  expect(idle).toEqual([]);
});

test("what the first pages show does not wait for the styles of the others", () => {
  const first = importedIn("styles.ts");
  const pages = ["pages/verify-page.tsx", "pages/overview-page.tsx"];
  const files = [
    ...pages.map((path) => join(SOURCES, path)),
    ...listSources(join(SOURCES, "pages/overview")),
    ...listSources(join(SOURCES, "ui/charts")),
    ...["shell", "navigation", "bare-frame", "banners", "scheme-switch", "balance-link"].map(
      (name) => join(SOURCES, `app/${name}.tsx`),
    ),
  ];
  const late = [...componentsIn(files)]
    .filter((name) => existsSync(join(STYLES, `${name}.layer.css`)))
    .filter((name) => !first.has(name));
  expect(late).toEqual([]);
});

/** All components that any page shows, with what they are built on, as far as there are styles for them. */
function wanted(): ReadonlySet<string> {
  const used = componentsIn(listSources(SOURCES));
  expect(used.size).toBeGreaterThan(20);
  const names = [...used].flatMap((name) => [name, ...(NEEDS[name] ?? [])]);
  return new Set(names.filter((name) => existsSync(join(STYLES, `${name}.layer.css`))));
}

function imported(): ReadonlySet<string> {
  return new Set([...importedIn("styles.ts"), ...importedIn("more-styles.ts")]);
}

function importedIn(file: string): ReadonlySet<string> {
  const text = readFileSync(join(SOURCES, "app", file), "utf8");
  return new Set(
    [...text.matchAll(/core\/styles\/(\w+)\.layer\.css/g)].map(([, name = ""]) => name),
  );
}

function componentsIn(files: readonly string[]): ReadonlySet<string> {
  const names = files.flatMap((file) => {
    const lists = readFileSync(file, "utf8").matchAll(/import \{([^}]*)\} from "@mantine\/core"/g);
    return [...lists].flatMap(([, list = ""]) => list.split(",").map((name) => name.trim()));
  });
  return new Set(names.filter((name) => /^[A-Z]\w+$/.test(name)));
}

function listSources(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".tsx"))
    .map((file) => join(folder, file));
}
