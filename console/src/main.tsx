import "./app/kept-key.ts";
import "./app/styles.ts";

import { createRoot } from "react-dom/client";

import { App, readStyleNonce } from "./app/app.tsx";

readStyleNonce();
const root = document.querySelector("#root");
if (root === null) throw new Error("index.html has no element #root");
createRoot(root).render(<App />);
