/** Lists, items, notes and views as the operations give them. */

export type FieldType = "text" | "number" | "date" | "time" | "datetime" | "select" | "checkbox";
export type FieldValue = string | number | boolean;

export interface CustomField {
  key: string;
  label: string;
  type: FieldType;
  options?: string[];
}

interface Kept {
  id: string;
  version: number;
  createdAt: string;
  updatedAt: string;
  tags?: string[];
}

export interface ItemList extends Kept {
  name: string;
  description?: string;
  defaultTags?: string[];
  fields?: CustomField[];
  /** How many. */
  items?: number;
}

export interface Item extends Kept {
  title: string;
  url?: string;
  notes?: string;
  fields?: Record<string, FieldValue>;
  list: string;
  position: number;
  completed: boolean;
}

export interface Note extends Kept {
  title: string;
  content?: string;
  characters?: number;
}

export interface View extends Kept {
  name: string;
  query: string;
}

/** A row of an answer: a whole item or note, or what the query shows of it. */
export type Row = { kind: "item" | "note"; id: string } & Record<string, unknown>;

export interface Change {
  change: string;
  at: string;
  action: string;
  /** The agent's id, or `you`. */
  by: string;
  what: { kind: string; id: string; name: string };
  /** What it changed of something that was there and stayed. */
  fields?: { field: string; before: unknown; after: unknown }[];
  undoes?: string;
  undoneBy?: string;
}

export type Area = "lists" | "notes" | "views";
