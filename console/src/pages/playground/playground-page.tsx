import { Tabs, Title } from "@mantine/core";
import { lazy, Suspense, useEffect, useState, type ComponentType } from "react";

import type { Model, Provider } from "../../api/contract.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useFilters } from "../../app/use-filters.ts";
import { Answer, Loading } from "../../ui/answer.tsx";
import { AppLink } from "../../ui/app-link.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Note, RoleNote } from "../../ui/page.tsx";
import { pickSampleModel } from "../../snippets/pick-sample-model.ts";
import type { TabProps } from "./tab-props.ts";
import classes from "./playground.module.css";

interface TabOf {
  readonly id: string;
  readonly label: string;
  readonly modality: Model["modality"];
  readonly Tab: ComponentType<TabProps>;
}

const MODELS_MAX = 4;

const ChatTab = lazy(() => import("./chat/chat-tab.tsx"));
const ImagesTab = lazy(() => import("./media/images-tab.tsx"));
const VideosTab = lazy(() => import("./media/videos-tab.tsx"));
const DecisionsTab = lazy(() => import("./decisions/decisions-tab.tsx"));

const TABS: readonly TabOf[] = [
  { id: "chat", label: "Chat", modality: "text", Tab: ChatTab },
  { id: "images", label: "Images", modality: "image", Tab: ImagesTab },
  { id: "videos", label: "Videos", modality: "video", Tab: VideosTab },
  { id: "decisions", label: "Decisions", modality: "decisions", Tab: DecisionsTab },
];

/** `/playground`: makes the same calls as a program with a key, but the session authorizes them. */
export function PlaygroundPage() {
  const catalog = useAnswer("GET /api/catalog.json");
  const providers = useAnswer("GET /api/providers.json");
  useEffect(() => {
    document.title = "Playground · Token Market";
  }, []);
  return (
    <div className={classes.fill}>
      <RoleNote need="keys" what="call models in the playground" />
      <Answer of={catalog} skeleton={WAITING}>
        {({ models }) =>
          providers.isPending ? (
            WAITING
          ) : (
            <PlaygroundTabs models={models} providers={providers.data?.providers ?? []} />
          )
        }
      </Answer>
    </div>
  );
}

const TITLE = (
  <Title order={1} size="h3">
    Playground
  </Title>
);
const WAITING = (
  <>
    <div className={classes.head}>{TITLE}</div>
    <Loading rows={10} />
  </>
);

function PlaygroundTabs(props: {
  readonly models: readonly Model[];
  readonly providers: readonly Provider[];
}) {
  const { models } = props;
  const [sample] = useState(() => pickSampleModel(models, props.providers));
  const [filters, setFilters] = useFilters<Partial<Record<"tab" | "model", string | undefined>>>();
  const asked = filters.model?.split(",") ?? [];
  const active = activeTab(filters.tab, models, asked);
  // A tab that was shown once stays mounted, so that it keeps its state.
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  if (!seen.has(active.id)) setSeen(new Set([...seen, active.id]));
  return (
    <Tabs
      className={classes.tabs}
      value={active.id}
      onChange={(tab) => setFilters({ tab: tab ?? undefined, model: undefined })}
    >
      <div className={classes.head}>
        {TITLE}
        <Tabs.List aria-label="Model types" className={classes.tabList}>
          {TABS.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id} className={classes.tab}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Note size="xs" className={classes.lead}>
          Requests are billed to your organization, up to 60 per minute.
        </Note>
      </div>
      {TABS.map((tab) => (
        <Tabs.Panel key={tab.id} value={tab.id} className={classes.panel}>
          {seen.has(tab.id) ? (
            <TabContent
              tab={tab}
              models={models.filter(({ modality }) => modality === tab.modality)}
              asked={tab.id === active.id ? asked : []}
              sample={sample}
              onModels={(ids) => setFilters({ model: ids.join(",") })}
            />
          ) : null}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

function TabContent(props: {
  readonly tab: TabOf;
  readonly models: readonly Model[];
  readonly asked: readonly string[];
  /** Model to start with if the page's URL names none. Ignored if the tab does not list it. */
  readonly sample: string | undefined;
  readonly onModels: (modelIds: readonly string[]) => void;
}) {
  const { tab, models, onModels } = props;
  const known = [...new Set(props.asked)].filter((id) => models.some((each) => each.id === id));
  const first = models.find(({ id }) => id === props.sample) ?? models[0];
  if (first === undefined) {
    return (
      <Empty
        title={`No ${tab.label.toLowerCase()} models are listed.`}
        action={<AppLink to="/models">View all models</AppLink>}
      />
    );
  }
  return (
    <Suspense fallback={<Loading rows={10} />}>
      <tab.Tab
        models={models}
        modelIds={known.length === 0 ? [first.id] : known.slice(0, MODELS_MAX)}
        isNamed={known.length > 0}
        onModels={onModels}
      />
    </Suspense>
  );
}

/** The tab named by the page's URL, else the tab of the model named there, else the first tab. */
function activeTab(
  wanted: string | undefined,
  models: readonly Model[],
  asked: readonly string[],
): TabOf {
  const modality = models.find(({ id }) => asked.includes(id))?.modality;
  const found =
    TABS.find(({ id }) => id === wanted) ?? TABS.find((tab) => tab.modality === modality);
  return found ?? (TABS[0] as TabOf);
}
