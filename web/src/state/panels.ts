/** What this window shows beside the conversation, as the server and the model are told of it. */

export interface PanelContext {
  /** The active item: "list", "note" or "view", its id and its name. */
  type?: string;
  id?: string;
  name?: string;
  /** A view that is shown, instead of an item. */
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

/** What this window made of a request to show something: when the person was writing, it asks. */
export interface Followed {
  show: string;
  how: "opened" | "offered";
}

export interface Inventory {
  panels: OpenPanel[];
  selectedPanelId: string | null;
  selectedChatPanelId: string | null;
  shown: readonly Followed[];
}

export type Mode = "" | "brief";

const LONGEST_VALUE = 500;
const LONGEST_SELECTION = 1_000;
const CHAT = "chat";
const MOST_FOLLOWED = 16;
const ESCAPED: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A value on one line, without what cannot be seen, cut where it gets too long, and escaped. */
export function attributeValue(value: string, longest = LONGEST_VALUE): string {
  const line = value.replace(HIDDEN, " ").replace(/\s+/g, " ").trim();
  const characters = [...line];
  const kept = characters.length > longest ? `${characters.slice(0, longest - 1).join("")}…` : line;
  return kept.replace(/[&<>"']/g, (character) => ESCAPED[character] ?? character);
}

/** As many whole ids as fit: half an id would name something else. */
function selection(ids: readonly string[]): string {
  const kept: string[] = [];
  let length = 0;
  for (const id of ids) {
    length += id.length + 1;
    if (length > LONGEST_SELECTION) break;
    if (!id.includes(",")) kept.push(id);
  }
  return kept.join(",");
}

/** The line that goes before a message: a hint for the model, which gives no rights. */
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
        `${key}="${attributeValue(value, key === "selection" ? LONGEST_SELECTION : LONGEST_VALUE)}"`,
    );
  return `<context ${written.join(" ")} />`;
}

/** The panels of this window; whoever opens one feeds it, and is told of nothing in return. */
export class Panels {
  /** Names this window as long as it is loaded. */
  readonly windowId: string;
  mode: Mode = "";
  private readonly open = new Map<string, OpenPanel>();
  private selectedId: string | null = null;
  private chatAgentId: string | null = null;
  private followed: readonly Followed[] = [];

  constructor(
    windowId: string,
    private readonly changed: () => void,
  ) {
    this.windowId = windowId;
  }

  /** Open a panel, or tell what is different about it. */
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

  /** The conversation that this window shows; null for none. */
  talkTo(agentId: string | null): void {
    if (this.chatAgentId === agentId) return;
    this.chatAgentId = agentId;
    this.changed();
  }

  /** Follow a request once, and tell the server each time that it asks. */
  follow(show: string, act: () => Followed["how"]): void {
    if (!this.followed.some((one) => one.show === show)) {
      this.followed = [...this.followed, { show, how: act() }].slice(-MOST_FOLLOWED);
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
      shown: this.followed,
    };
  }

  /** What goes before the next message; nothing while no panel is selected. */
  line(): string {
    const selected = this.selected();
    return selected ? contextLine(selected, this.mode) : "";
  }

  private selected(): OpenPanel | undefined {
    return this.selectedId === null ? undefined : this.open.get(this.selectedId);
  }
}
