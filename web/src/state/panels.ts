/** The panels of this window, as reported to the server and the model. */

export interface PanelContext {
  /** The active item: "list", "note" or "view", with its ID and name. */
  type?: string;
  id?: string;
  name?: string;
  /** The open view, instead of an item. */
  viewName?: string;
  viewQuery?: string;
  selectedItemIds?: readonly string[];
}

export interface OpenPanel {
  panelId: string;
  panelType: string;
  panelTitle?: string;
  visible?: boolean;
  binding?: Record<string, unknown>;
  context?: PanelContext;
}

/** The outcome of a request to show something: offered if the user was editing. */
export interface ShowResult {
  show: string;
  how: "opened" | "offered";
}

export interface Inventory {
  panels: OpenPanel[];
  selectedPanelId: string | null;
  selectedChatPanelId: string | null;
  shown: readonly ShowResult[];
}

export type Mode = "" | "brief";

const MAX_VALUE_LENGTH = 500;
const MAX_SELECTION_LENGTH = 1_000;
const CHAT = "chat";
const MAX_SHOW_RESULTS = 16;
const ESCAPED: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A value on one line, without invisible characters, truncated and escaped. */
export function attributeValue(value: string, longest = MAX_VALUE_LENGTH): string {
  const line = value.replace(HIDDEN, " ").replace(/\s+/g, " ").trim();
  const characters = [...line];
  const kept = characters.length > longest ? `${characters.slice(0, longest - 1).join("")}…` : line;
  return kept.replace(/[&<>"']/g, (character) => ESCAPED[character] ?? character);
}

/** As many complete IDs as fit. */
function selection(ids: readonly string[]): string {
  const kept: string[] = [];
  let length = 0;
  for (const id of ids) {
    length += id.length + 1;
    if (length > MAX_SELECTION_LENGTH) break;
    if (!id.includes(",")) kept.push(id);
  }
  return kept.join(",");
}

/** The context line before a message: a hint for the model that grants no rights. */
export function contextLine(panel: OpenPanel, mode: Mode = ""): string {
  const { type, id, name, viewName, viewQuery, selectedItemIds = [] } = panel.context ?? {};
  const shown = viewName ? { "view-name": viewName, "view-query": viewQuery } : { type, id, name };
  const attributes: Record<string, string | undefined> = {
    "panel-id": panel.panelId,
    "panel-type": panel.panelType,
    "panel-title": panel.panelTitle,
    ...shown,
    selection: selection(selectedItemIds),
    mode,
  };
  const written = Object.entries(attributes)
    .filter((entry): entry is [string, string] => Boolean(entry[1]))
    .map(
      ([key, value]) =>
        `${key}="${attributeValue(value, key === "selection" ? MAX_SELECTION_LENGTH : MAX_VALUE_LENGTH)}"`,
    );
  return `<context ${written.join(" ")} />`;
}

/** The open panels of this window. */
export class Panels {
  /** Identifies this window until it is reloaded. */
  readonly windowId: string;
  mode: Mode = "";
  private readonly open = new Map<string, OpenPanel>();
  private selectedId: string | null = null;
  private chatAgentId: string | null = null;
  private showResults: readonly ShowResult[] = [];

  constructor(
    windowId: string,
    private readonly changed: () => void,
  ) {
    this.windowId = windowId;
  }

  /** Opens or updates a panel. */
  show(panel: OpenPanel): void {
    if (JSON.stringify(this.open.get(panel.panelId)) === JSON.stringify(panel)) return;
    this.open.set(panel.panelId, panel);
    this.changed();
  }

  close(panelId: string): void {
    if (!this.open.delete(panelId)) return;
    if (this.selectedId === panelId) this.selectedId = null;
    this.changed();
  }

  select(panelId: string | null): void {
    if (this.selectedId === panelId) return;
    this.selectedId = panelId;
    this.changed();
  }

  /** Sets the open conversation; null for none. */
  setChatAgent(agentId: string | null): void {
    if (this.chatAgentId === agentId) return;
    this.chatAgentId = agentId;
    this.changed();
  }

  /** Handles each request once and reports the outcome every time it is repeated. */
  handleShow(show: string, act: () => ShowResult["how"]): void {
    if (!this.showResults.some((one) => one.show === show)) {
      this.showResults = [...this.showResults, { show, how: act() }].slice(-MAX_SHOW_RESULTS);
    }
    this.changed();
  }

  inventory(): Inventory {
    const panels = [...this.open.values()];
    const selected = this.selected();
    if (this.chatAgentId) {
      panels.push({ panelId: CHAT, panelType: CHAT, binding: { agentId: this.chatAgentId } });
    }
    return {
      panels,
      selectedPanelId: selected?.panelId ?? null,
      selectedChatPanelId: this.chatAgentId ? CHAT : null,
      shown: this.showResults,
    };
  }

  /** The context line for the next message; empty if no panel is selected. */
  line(): string {
    const selected = this.selected();
    return selected ? contextLine(selected, this.mode) : "";
  }

  private selected(): OpenPanel | undefined {
    return this.selectedId === null ? undefined : this.open.get(this.selectedId);
  }
}
