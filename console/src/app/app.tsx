import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, type ReactElement } from "react";

import { ErrorBoundary } from "./error-boundary.tsx";
import { Notices } from "./notices.tsx";
import { makeQueryClient } from "./query-client.ts";
import { router } from "./router.tsx";
import { styleNonce } from "./style-nonce.ts";
import { cssVariables, theme } from "./theme.ts";

const queries = makeQueryClient();

export function App(): ReactElement {
  return (
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={cssVariables}
        defaultColorScheme="auto"
        getStyleNonce={styleNonce}
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
