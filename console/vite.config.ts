import react from "@vitejs/plugin-react";
import { defineConfig, type UserConfig } from "vite";

/** What people see first; each brings along what it imports. */
const FIRST = /console\/src\/(main|pages\/overview-page)\.tsx$/;

/* What opens is large, and a page that has not opened it does without: each kind is a file of its own. */
const FIELDS =
  /@mantine\/(hooks\/|core\/esm\/(core\/|components\/(InputBase|TextInput|NativeSelect|Checkbox|Portal)\/))/;
const DIALOGS = /@mantine\/core\/.+\/(Modal|ModalBase|Drawer)\//;
const CHOICES =
  /@mantine\/core\/.+\/(Combobox|Select|MultiSelect|Autocomplete|Pill|PillsInput|Popover|ScrollArea|NumberInput)\//;
/** What only the playground's tabs share has choices in it: other pages would load them too. */
const NOT_OF_TABS = /^(?!.*\/playground\/(model-picker|parameter-field|media-code)\.tsx$)/;

const config: UserConfig = defineConfig({
  root: import.meta.dirname,
  base: "/",
  plugins: [react()],
  build: {
    outDir: "../dist/console",
    emptyOutDir: true,
    // The content security policy allows no inline script and no data address for one.
    assetsInlineLimit: 0,
    sourcemap: false,
    // Every browser of the target preloads modules by itself.
    modulePreload: { polyfill: false },
    target: "es2023",
    rolldownOptions: {
      output: {
        // What the first page needs is one file; what several other pages share is another: a browser
        // without a cache asks for a handful of files, not for one a component.
        codeSplitting: {
          groups: [
            { name: "first", test: FIRST, priority: 5 },
            { name: "fields", test: FIELDS, priority: 4 },
            { name: "dialogs", test: DIALOGS, priority: 3 },
            { name: "choices", test: CHOICES, priority: 2 },
            { name: "pages", test: NOT_OF_TABS, minShareCount: 3, priority: 1 },
          ],
        },
      },
    },
  },
});
export default config;
