import "./app/kept-key.ts";
import "./app/styles.ts";

import { createRoot } from "react-dom/client";

import { App } from "./app/app.tsx";
import { readStyleNonce } from "./app/style-nonce.ts";

readStyleNonce();
const root = document.querySelector("#root");
if (root === null) throw new Error("index.html has no element #root");
createRoot(root).render(<App />);
