import { join } from "node:path";

import react from "@vitejs/plugin-react";
import { defineConfig, type UserConfig } from "vite";

/** The first page and what it imports. */
const FIRST = /console\/src\/(main|pages\/overview-page)\.tsx$/;

/*
 * Groups of Mantine's components. Each group gets a file of its own, so that a page loads only the
 * groups that it uses.
 */
const FIELDS =
  /@mantine\/(hooks\/|core\/esm\/(core\/|components\/(InputBase|TextInput|NativeSelect|Checkbox|Portal)\/))/;
const CHOICES = /@mantine\/core\/.+\/(Combobox|Select|Popover|ScrollArea)\//;
const MORE_CHOICES = /@mantine\/core\/.+\/(MultiSelect|Autocomplete|Pill|PillsInput|NumberInput)\//;
const DIALOGS = /@mantine\/core\/.+\/(Modal|ModalBase|Drawer)\//;

/*
 * Shared parts: those that most pages use, and those that only the pages of one kind use. Menus are
 * not among them, because they are loaded when they open, nor the dialog of a new secret and lists
 * of older pages, which few pages have.
 */
const PARTS = new RegExp(
  [
    "console/src/ui/(?!opened-menu|secret-once|older-pages)",
    "console/src/(api|app/(?!org-switch)|pages/models/price-labels)",
    "lucide-react",
    "@mantine/core/.+/(Code|FileButton)/",
  ].join("|"),
);
const SNIPPETS = /console\/src\/snippets\//;
/** Modules that every tab of the playground uses. Other pages should not load them. */
const OF_TABS = /\/playground\/(playground-page|model-picker|parameter-field|call-figures)\.tsx$/;
const OF_MEDIA = /\/playground\/(media-code|media\/media-form)\.tsx$/;
const OF_CALLS = /\/playground\/[a-z-]+\.ts$|\/playground\/gateway-trouble\.tsx$/;
const OF_KIND = /console\/src\/pages\/(?!playground)([a-z]+)\//;

/** Names the folder of pages that has the module, such as `"keys"`; null if none has it. */
function findKind(module: string): string | null {
  return OF_KIND.exec(module)?.[1] ?? null;
}

const config: UserConfig = defineConfig({
  root: import.meta.dirname,
  base: "/",
  plugins: [react()],
  resolve: {
    alias: [
      { find: /^react$/, replacement: join(import.meta.dirname, "src/app/react.js") },
      { find: /^react-dom$/, replacement: "preact/compat" },
      { find: /^react(-dom)?\/(client|jsx-runtime)$/, replacement: "preact/compat/$2" },
    ],
  },
  build: {
    outDir: "../dist/console",
    emptyOutDir: true,
    // Lists the files of each page, for the test of page weights. The server does not send it.
    manifest: ".chunks.json",
    // The content security policy allows neither inline scripts nor scripts from `data:` addresses.
    assetsInlineLimit: 0,
    sourcemap: false,
    // Every browser of the target preloads modules by itself.
    modulePreload: { polyfill: false },
    target: "es2023",
    rolldownOptions: {
      output: {
        // One file for the first page and one for what several other pages share, so that a browser
        // without a cache requests a handful of files and not one for each component.
        codeSplitting: {
          groups: [
            { name: "first", test: FIRST, priority: 9 },
            { name: "fields", test: FIELDS, priority: 8 },
            { name: "choices", test: CHOICES, priority: 7 },
            { name: "more-choices", test: MORE_CHOICES, priority: 6 },
            { name: "dialogs", test: DIALOGS, priority: 5 },
            { name: "pages", test: PARTS, minShareCount: 2, priority: 4 },
            { name: "snippets", test: SNIPPETS, minShareCount: 2, priority: 3 },
            { name: "calls", test: OF_CALLS, minShareCount: 2, priority: 3 },
            { name: findKind, debugName: "kinds", test: OF_KIND, minShareCount: 2, priority: 2 },
            { name: "playground", test: OF_TABS, priority: 1 },
            { name: "media", test: OF_MEDIA, minShareCount: 2, priority: 0 },
          ],
        },
      },
    },
  },
});
export default config;
