import react from "@vitejs/plugin-react";
import { defineConfig, type UserConfig } from "vite";

/** What people see first; each brings along what it imports. */
const FIRST = /console\/src\/(main|pages\/overview-page)\.tsx$/;

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
            { name: "first", test: FIRST, priority: 2 },
            { name: "pages", minShareCount: 3, priority: 1 },
          ],
        },
      },
    },
  },
});
export default config;
