import { Button } from "@mantine/core";
import { Printer } from "lucide-react";
import { useEffect, type ReactNode } from "react";

/** The browser prints to paper or to a PDF file. */
export function PrintButton(): ReactNode {
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
      Print or save as PDF
    </Button>
  );
}

const SCHEME = "data-mantine-color-scheme";
let before: string | null = null;

/** Paper is white, whatever the screen is. */
function showLight(): void {
  const { documentElement } = globalThis.document;
  before = documentElement.getAttribute(SCHEME);
  documentElement.setAttribute(SCHEME, "light");
}

function showAsBefore(): void {
  if (before !== null) globalThis.document.documentElement.setAttribute(SCHEME, before);
}
