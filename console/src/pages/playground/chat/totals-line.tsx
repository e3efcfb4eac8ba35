import { Text } from "@mantine/core";
import type { ReactElement } from "react";

import { formatCount, formatMs } from "../../../ui/count.tsx";
import { Money } from "../../../ui/money.tsx";
import { tokensPerSecond, totalsOf } from "./answer-speed.ts";
import classes from "./chat.module.css";
import type { Turn } from "./chat-types.ts";

/** The foot of a column: what its model cost in all, and how fast its newest answer was. */
export function ColumnTotals(props: {
  readonly turns: readonly Turn[];
  readonly modelId: string;
  readonly name: string;
}): ReactElement {
  const { costUsd, last } = totalsOf(props.turns, props.modelId);
  const speed = last === undefined ? undefined : tokensPerSecond(last);
  return (
    <Text
      size="xs"
      c="dimmed"
      component="div"
      className={classes.totals}
      role="group"
      aria-label={`Totals of ${props.name}`}
    >
      <span>
        total <Money usd={costUsd} />
      </span>
      <span>first token {formatMs(last?.firstByteMs ?? null)}</span>
      <span>{speed === undefined ? "–" : formatCount(speed)} tokens/s</span>
    </Text>
  );
}

/** What the conversation cost, over all models. */
export function ConversationTotals({ turns }: { readonly turns: readonly Turn[] }): ReactElement {
  const { costUsd, promptTokens, completionTokens, answers } = totalsOf(turns);
  return (
    <Text size="xs" c="dimmed" component="div" className={classes.totals}>
      <span>
        {formatCount(answers)} {answers === 1 ? "answer" : "answers"}
      </span>
      <span>
        {formatCount(promptTokens)} tokens in, {formatCount(completionTokens)} out
      </span>
      <span>
        conversation total <Money usd={costUsd} />
      </span>
    </Text>
  );
}
