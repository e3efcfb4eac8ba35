import { Button } from "@mantine/core";
import { Code } from "lucide-react";
import { useState } from "react";

import type { Model } from "../../api/contract.ts";
import { useSession } from "../../api/use-answer.ts";
import { CallSnippets, KEY_NOTE } from "../../snippets/call-snippets.tsx";
import { bodySnippets } from "../../snippets/media-snippets.ts";
import { Dialog } from "../../ui/dialog.tsx";

type Body = Readonly<Record<string, unknown>>;

export function MediaCode(props: {
  readonly modality: Exclude<Model["modality"], "text">;
  /** Returns undefined if the form has a problem, which it then shows. */
  readonly bodyOf: () => Body | undefined;
}) {
  const { gateway_url: gatewayUrl } = useSession().installation;
  const [body, setBody] = useState<Body>();
  return (
    <>
      <Button
        variant="default"
        leftSection={<Code size={14} aria-hidden />}
        onClick={() => setBody(props.bodyOf())}
      >
        Get code
      </Button>
      {body === undefined ? null : (
        <Dialog opened onClose={() => setBody(undefined)} title="Code for this request" size="xl">
          <CallSnippets
            hasOneRoute
            of={() => bodySnippets(props.modality, gatewayUrl, body)}
            note={KEY_NOTE}
          />
        </Dialog>
      )}
    </>
  );
}
