import { Skeleton } from "@mantine/core";
import { lazy, Suspense, type ReactNode } from "react";

import type { ModelsFieldProps } from "./models-select.tsx";

const ModelsSelect = lazy(() => import("./models-select.tsx"));

/** The models that a key may call. The field is loaded with the form that has it, not with the page. */
export function ModelsField(props: ModelsFieldProps): ReactNode {
  return (
    <Suspense fallback={<Skeleton height={FIELD_PX} />}>
      <ModelsSelect {...props} />
    </Suspense>
  );
}

/** With its label and description. */
const FIELD_PX = 76;
