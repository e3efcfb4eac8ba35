import { Button, Stack, Text, Title } from "@mantine/core";
import { Component, type ReactNode } from "react";

import shell from "./shell.module.css";

export class ErrorBoundary extends Component<
  { readonly children: ReactNode },
  { readonly hasFailed: boolean }
> {
  override state = { hasFailed: false };

  static getDerivedStateFromError(): { readonly hasFailed: boolean } {
    return { hasFailed: true };
  }

  override render() {
    return this.state.hasFailed ? (
      <main>
        <PageFailed />
      </main>
    ) : (
      this.props.children
    );
  }
}

export class OfflineFault extends Error {
  override name = "OfflineFault";

  constructor(options: ErrorOptions) {
    super("this browser is offline", options);
  }
}

/** Replaces a page that failed to render or load, for example because the console was updated. */
export function PageFailed({ error }: { readonly error?: unknown }) {
  const isOffline = error instanceof OfflineFault;
  return (
    <Stack gap="md" align="flex-start" className={shell.notice}>
      <Title order={1} size="h2">
        {isOffline ? "You are offline" : "This page crashed"}
      </Title>
      <Text>{isOffline ? OFFLINE : CRASHED}</Text>
      <Button onClick={() => globalThis.location.reload()}>Reload</Button>
    </Stack>
  );
}

const OFFLINE = "This page could not be loaded. Connect to the network, then reload it.";
const CRASHED =
  "Something in the console went wrong, or it was updated while you had it open. Nothing was " +
  "lost on the server. Reload the page; if it fails again, contact support.";
