import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, lazy, Suspense, useEffect, useState } from "react";
import { notificationsStore } from "@mantine/notifications";

import { ErrorBoundary } from "./error-boundary.tsx";
import { makeQueryClient } from "./query-client.ts";
import { router } from "./router.tsx";
import { cssVariables, theme } from "./theme.ts";

const queries = makeQueryClient();

export function App() {
  return (
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        <Notices />
        <ErrorBoundary>
          <QueryClientProvider client={queries}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </ErrorBoundary>
      </MantineProvider>
    </StrictMode>
  );
}

const NoticeArea = lazy(() => import("./notice-area.tsx"));

/** Loads the code that shows Mantine notifications only when the first notification is sent. */
function Notices() {
  const [isNeeded, setNeeded] = useState(false);
  useEffect(() => notificationsStore.subscribe(() => setNeeded(true)), []);
  if (!isNeeded) return null;
  return (
    <Suspense>
      <NoticeArea />
    </Suspense>
  );
}

let nonce = "";

/** Reads the CSP nonce that the server put into this page; generated style elements need it. */
export function readStyleNonce(): void {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]');
  nonce = meta?.content ?? "";
  // The library that locks scrolling under dialogs reads the nonce from this global.
  (globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = nonce;
}
