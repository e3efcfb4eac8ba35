import { Button } from "@mantine/core";
import { Download } from "lucide-react";
import type { ReactElement, ReactNode } from "react";

/** A button that saves a file. The default file name is the one that the server gives it. */
export function DownloadLink(props: {
  readonly href: string;
  readonly fileName?: string;
  readonly label?: string;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <Button
      component="a"
      href={props.href}
      download={props.fileName ?? true}
      size="xs"
      variant="default"
      leftSection={<Download size={14} aria-hidden />}
      aria-label={props.label}
    >
      {props.children}
    </Button>
  );
}
