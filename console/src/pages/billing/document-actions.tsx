import { Button } from "@mantine/core";
import { Printer } from "lucide-react";
import { useEffect, type ReactNode } from "react";

import { buildAddress } from "../../api/client.ts";
import { DownloadLink } from "../../ui/download-link.tsx";
import styles from "./statement.module.css";

/** Buttons to print a document and to download `base` with each of the formats as extension. */
export function DocumentActions(props: {
  readonly base: string;
  readonly formats: readonly string[];
}): ReactNode {
  return (
    <div className={styles.actions}>
      <PrintButton />
      {props.formats.map((format) => (
        <DownloadLink key={format} href={buildAddress(`${props.base}.${format}`)}>
          {format.toUpperCase()}
        </DownloadLink>
      ))}
    </div>
  );
}

function PrintButton(): ReactNode {
  useEffect(() => {
    globalThis.addEventListener("beforeprint", showLight);
    globalThis.addEventListener("afterprint", showAsBefore);
    return () => {
      globalThis.removeEventListener("beforeprint", showLight);
      globalThis.removeEventListener("afterprint", showAsBefore);
    };
  }, []);
  return (
    <Button
      size="xs"
      variant="default"
      leftSection={<Printer size={14} aria-hidden />}
      onClick={() => globalThis.print()}
    >
      Print
    </Button>
  );
}

const SCHEME = "data-mantine-color-scheme";
let before: string | null = null;

/** Called before printing: switches to light colors, even if the screen is dark. */
function showLight(): void {
  const { documentElement } = globalThis.document;
  before = documentElement.getAttribute(SCHEME);
  documentElement.setAttribute(SCHEME, "light");
}

function showAsBefore(): void {
  if (before !== null) globalThis.document.documentElement.setAttribute(SCHEME, before);
}
