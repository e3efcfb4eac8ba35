import { Stack, Switch, Textarea } from "@mantine/core";
import { lazy, useState, type ReactNode } from "react";

import type { Model } from "../../../api/contract.ts";
import { controlled, checkable } from "../../../ui/fields.ts";
import { WhenOpened } from "../../../ui/dialog.tsx";
import shared from "../playground.module.css";
import classes from "./chat.module.css";
import type { ChatSettings } from "./chat-types.ts";
import { canReasonOff, readSchema, readTools, routingBody, takes } from "./chat-request.ts";
import { SmallButton } from "../../../ui/buttons.tsx";
import { Note } from "../../../ui/page.tsx";

const RoutingFields = lazy(() => import("./routing-fields.tsx"));

export interface SettingsProps {
  readonly models: readonly Model[];
  readonly settings: ChatSettings;
  readonly onChange: (change: Partial<ChatSettings>) => void;
}

export function StructureFields({ models, settings, onChange }: SettingsProps) {
  const { tools = "", schema = "" } = settings;
  return (
    <Stack gap="sm">
      {models.some(canReasonOff) ? (
        <Switch
          label="No reasoning"
          description={notTaken(models.filter((model) => !canReasonOff(model)))}
          {...checkable(settings.isReasoningOff === true, (isOn) =>
            onChange({ isReasoningOff: isOn }),
          )}
        />
      ) : null}
      <Section title="Tools" isSet={tools !== ""}>
        <JsonField
          label="Tools, as a JSON list"
          models={models}
          parameter="tools"
          value={tools}
          example={TOOLS_EXAMPLE}
          problem={readTools(tools).problem}
          onChange={(text) => onChange({ tools: text })}
        />
      </Section>
      <Section title="Response schema" isSet={schema !== ""}>
        <JsonField
          label="JSON schema of the answer"
          models={models}
          parameter="response_format"
          value={schema}
          example={SCHEMA_EXAMPLE}
          problem={readSchema(schema).problem}
          onChange={(text) => onChange({ schema: text })}
        />
      </Section>
      <Section title="Routing" isSet={routingBody(settings.routing) !== undefined}>
        <RoutingFields
          models={models}
          routing={settings.routing ?? {}}
          onChange={(routing) => onChange({ routing })}
        />
      </Section>
    </Stack>
  );
}

function Section(props: {
  readonly title: string;
  readonly isSet: boolean;
  readonly children: ReactNode;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={classes.section} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {props.title}
        {props.isSet ? " (set)" : ""}
      </summary>
      <div>
        <WhenOpened opened={isOpen}>{props.children}</WhenOpened>
      </div>
    </details>
  );
}

function JsonField(props: {
  readonly label: string;
  readonly models: readonly Model[];
  readonly parameter: string;
  readonly value: string;
  readonly example: string;
  readonly problem: string | undefined;
  readonly onChange: (value: string) => void;
}) {
  const { models, parameter, value, problem } = props;
  const others = models.filter((model) => !takes(model, parameter));
  if (others.length === models.length) {
    return (
      <Note size="xs">
        {models.length === 1 ? "This model does not" : "These models do not"} support{" "}
        <code>{parameter}</code>.
      </Note>
    );
  }
  return (
    <Stack gap={6} align="stretch">
      <Textarea
        label={props.label}
        description={notTaken(others)}
        className={shared.mono}
        spellCheck={false}
        {...controlled(value, props.onChange)}
        error={problem}
        minRows={3}
        maxRows={14}
      />
      {value === "" ? (
        <SmallButton onClick={() => props.onChange(props.example)}>Insert an example</SmallButton>
      ) : null}
    </Stack>
  );
}

function notTaken(models: readonly Model[]): string | undefined {
  if (models.length === 0) return undefined;
  return `Not sent to ${models.map(({ name }) => name).join(", ")}`;
}

const TOOLS_EXAMPLE = `[
  {
    "type": "function",
    "function": {
      "name": "get_weather",
      "description": "The weather in a city now",
      "parameters": {
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"]
      }
    }
  }
]`;

const SCHEMA_EXAMPLE = `{
  "type": "object",
  "properties": {
    "summary": { "type": "string" },
    "score": { "type": "integer" }
  },
  "required": ["summary", "score"],
  "additionalProperties": false
}`;
