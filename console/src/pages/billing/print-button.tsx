import { Button } from "@mantine/core";
import { Printer } from "lucide-react";
import type { ReactNode } from "react";

/** The browser prints to paper or to a PDF file. */
export function PrintButton(): ReactNode {
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
