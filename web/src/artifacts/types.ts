/** Lists, items, notes and views as the operations return them. */

export type FieldType = "text" | "number" | "date" | "time" | "datetime" | "select" | "checkbox";
export type FieldValue = string | number | boolean;

export interface CustomField {
  key: string;
  label: string;
  type: FieldType;
  options?: string[];
}

interface StoredArtifact {
  id: string;
  version: number;
  createdAt: string;
  updatedAt: string;
  tags?: string[];
}

export interface ItemList extends StoredArtifact {
  name: string;
  description?: string;
  defaultTags?: string[];
  fields?: CustomField[];
  /** The number of items. */
  items?: number;
}

export interface Item extends StoredArtifact {
  title: string;
  url?: string;
  notes?: string;
  fields?: Record<string, FieldValue>;
  list: string;
  position: number;
  completed: boolean;
}

export interface Note extends StoredArtifact {
  title: string;
  content?: string;
  characters?: number;
}

export interface View extends StoredArtifact {
  name: string;
  query: string;
}

/** A result row: an item or note, or the fields that the query selects. */
export type Row = { kind: "item" | "note"; id: string } & Record<string, unknown>;

export interface Change {
  change: string;
  at: string;
  action: string;
  /** An agent ID, or `you`. */
  by: string;
  what: { kind: string; id: string; name: string };
  /** Changed fields, for updates. */
  fields?: { field: string; before: unknown; after: unknown }[];
  undoes?: string;
  undoneBy?: string;
}

export type Area = "lists" | "notes" | "views";
