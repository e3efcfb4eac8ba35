import { Button, type ButtonProps } from "@mantine/core";
import type { ComponentProps, ReactNode } from "react";
import { Download, Check, Copy } from "lucide-react";

import { useSession } from "../api/use-answer.ts";
import { useCopy } from "./copyable.tsx";

type Props = ButtonProps & Omit<ComponentProps<"button">, keyof ButtonProps>;

/** A button of a panel or form that is not its main action. */
export function SmallButton(props: Props) {
  return <Button size="xs" variant="default" {...props} />;
}

/** A button in a row of a table or in a line of text. */
export function CompactButton(props: Props) {
  return <Button size="compact-xs" variant="default" {...props} />;
}

/**
 * A button that saves a file, by default under the name in the answer. A request to the console's
 * API names the organization that the page shows: another tab may have switched to another one.
 */
export function DownloadLink(props: {
  readonly href: string;
  readonly fileName?: string;
  readonly label?: string;
  readonly children: ReactNode;
}) {
  const orgId = useSession().org?.org_id ?? "";
  const { href } = props;
  const bound = `${href}${href.includes("?") ? "&" : "?"}org=${encodeURIComponent(orgId)}`;
  return (
    <Button
      component="a"
      href={href.startsWith("/api/console/") ? bound : href}
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

export function CopyTextButton(props: {
  readonly value: string;
  readonly label: string;
  readonly onCopied?: (() => void) | undefined;
}) {
  const { isCopied, copy } = useCopy();
  return (
    <Button
      variant="default"
      leftSection={isCopied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
      onClick={() => void copy(props.value, props.onCopied)}
    >
      {isCopied ? "Copied" : props.label}
    </Button>
  );
}
