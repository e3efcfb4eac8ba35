import react from "@vitejs/plugin-react";
import { defineConfig, type UserConfig } from "vite";

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
    target: "es2023",
  },
});
export default config;
