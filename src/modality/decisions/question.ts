/** The typed answer that a question asks for, in one form whatever the grammar was. */
export type Question =
  | {
      readonly wire: "systemone";
      readonly id: string;
      readonly kind: "noul" | "choice" | "score" | "box";
      /** The type as the buyer spelled it: `boolean` for a noul, `integer` for a score, … */
      readonly asked: string;
      /** As sent, with the schema's description behind it; undefined where the criteria say it all. */
      readonly instructions: unknown;
      /** noul: by "true" and "false". choice: by label. score: one per level. Undefined: none. */
      readonly criteria: unknown;
      /** Of a `choice`: its labels in order. */
      readonly labels?: readonly string[];
      /** Of an integer or number asked with min and max: the value of level 0. */
      readonly scoreFrom?: number;
    }
  | {
      readonly wire: "gliner";
      readonly id: string;
      readonly kind: "classification" | "entities" | "relations" | "structure";
      /**
       * Under which the provider answers: unique in a request. In the public form of the wire all
       * entities are answered under `entities` and all relations under `relation_extraction`.
       */
      readonly resultName: string;
      /**
       * The values as sent, without its name and under the first names of its fields: `type` (of a
       * `boolean` that word, and no labels: they are `yes` and `no`), `labels`, `multi_label`,
       * `threshold`, `top_k`, `instructions`, `examples`, `fields`.
       */
      readonly body: Readonly<Record<string, unknown>>;
    };
