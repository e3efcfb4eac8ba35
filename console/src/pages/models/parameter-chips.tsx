import { Stack, Text } from "@mantine/core";
import type { ReactElement } from "react";

import type { Model } from "../../../../src/account/console-api/contract.ts";
import { parameterLabel } from "./model-labels.ts";
import styles from "./models.module.css";

export function ParameterChips({ model }: { readonly model: Model }): ReactElement {
  const parameters = Object.entries(model.parameters);
  return (
    <Stack gap="md">
      <Chips label="Input" words={model.input_modalities} />
      {parameters.length === 0 ? (
        <Text size="sm" c="dimmed">
          The providers list no parameters.
        </Text>
      ) : (
        <Chips
          label="Parameters"
          words={parameters.map(([name, descriptor]) => {
            const words = parameterLabel(name, descriptor);
            const some = providersWith(model, name);
            return some === undefined ? words : `${words} (${some})`;
          })}
        />
      )}
    </Stack>
  );
}

/** Names who accepts the parameter, such as `"only Lab A"`. Undefined if all or no providers do. */
function providersWith({ providers }: Model, parameter: string): string | undefined {
  const taking = providers.filter(({ parameters }) => Object.hasOwn(parameters, parameter));
  if (taking.length === providers.length || taking.length === 0) return undefined;
  return `only ${taking.map(({ name }) => name).join(", ")}`;
}

function Chips(props: { readonly label: string; readonly words: readonly string[] }): ReactElement {
  return (
    <div>
      <Text size="sm" c="dimmed" mb={6}>
        {props.label}
      </Text>
      <ul className={styles.chips} aria-label={props.label}>
        {props.words.map((word) => (
          <li key={word} className={styles.chipText}>
            {word}
          </li>
        ))}
      </ul>
    </div>
  );
}
