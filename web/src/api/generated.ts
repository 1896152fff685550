// Written by `npm run types` from openapi.json; change the server's wire types instead.

/** A stored message; it will have exactly one final fate. */
export type Admission = { agentId: string; fate: string; id: string; position: number; repeated: boolean };

/** Fields to change; absent fields stay, null clears. */
export type AgentChanges = {
  attributes?: Record<string, unknown>;
  model?: string | null;
  name?: string | null;
  pinned?: boolean;
};

/** An agent was deleted. */
export type AgentDeletedEvent = { agentId: string; cursor: number; type: "agent_deleted" };

/** An agent with its token usage. */
export type AgentDetail = {
  attributes: Record<string, unknown>;
  children: Array<ChildView>;
  createdAt: string;
  definition: string;
  descriptor: Record<string, unknown>;
  id: string;
  kind: string;
  lastSnippet: string | null;
  lastUserActivityAt: string | null;
  lifecycle: "awake" | "resting" | "sleeping" | "terminated";
  model: string | null;
  name: string | null;
  parentId: string | null;
  pinnedAt: string | null;
  queued: number;
  retryAt: string | null;
  stats: Record<string, Record<string, TokenStats>>;
  status: "queued" | "resting" | "running" | "terminated" | "waiting";
  title: string | null;
  tokens: TokenSnapshot | null;
  updatedAt: string;
  waits: Array<WaitView>;
};

/** An agent in a list. */
export type AgentEntry = {
  attributes?: Record<string, unknown>;
  children?: Array<ChildView>;
  createdAt: string;
  definition: string;
  descriptor: Record<string, unknown>;
  id: string;
  kind: string;
  lastSnippet?: string | null;
  lastUserActivityAt?: string | null;
  lifecycle: "awake" | "resting" | "sleeping" | "terminated";
  model?: string | null;
  name?: string | null;
  parentId?: string | null;
  pinnedAt?: string | null;
  queued?: number;
  retryAt?: string | null;
  status: "queued" | "resting" | "running" | "terminated" | "waiting";
  title?: string | null;
  updatedAt: string;
  waits?: Array<WaitView>;
};

/** An agent was created or changed. */
export type AgentEvent = { agent: AgentView; agentId: string; cursor: number; type: "agent" };

/** One page of agents, pinned first, then by activity. */
export type AgentList = { agents: Array<AgentEntry>; nextCursor: string | null };

/** An agent's ancestors, nearest first, and its children. */
export type AgentTree = { ancestors: Array<AgentEntry>; tree: TreeBranch };

/** An agent as clients see it. */
export type AgentView = {
  attributes?: Record<string, unknown>;
  children?: Array<ChildView>;
  createdAt: string;
  definition: string;
  descriptor: Record<string, unknown>;
  id: string;
  kind: string;
  lastSnippet?: string | null;
  lastUserActivityAt?: string | null;
  lifecycle: "awake" | "resting" | "sleeping" | "terminated";
  model?: string | null;
  name?: string | null;
  parentId?: string | null;
  pinnedAt?: string | null;
  queued?: number;
  retryAt?: string | null;
  status: "queued" | "resting" | "running" | "terminated" | "waiting";
  title?: string | null;
  updatedAt: string;
  waits?: Array<WaitView>;
};

/** A list, item, note or view was created, changed or removed. Only its owner receives this. */
export type ArtifactEvent = {
  action: "changed" | "created" | "removed";
  by?: string | null;
  change: string;
  cursor: number;
  id: string;
  kind: "item" | "list" | "note" | "view";
  list?: string | null;
  type: "artifact";
  version: number;
};

/** One complete model response; its tool calls are run after it is committed. */
export type AssistantRecord = {
  at?: string;
  durationMs?: number;
  finish?: string;
  kind: "assistant";
  model: string;
  parts: Array<TextPart | ThinkingPart | CallPart>;
  provider?: Record<string, unknown> | null;
  seq?: number;
  side?: string;
  usage?: Usage | null;
  v?: number;
};

/** A tool call requested by the model. */
export type CallPart = {
  arguments?: Record<string, unknown>;
  id: string;
  malformed?: string | null;
  name: string;
  provider?: Record<string, unknown> | null;
  type: "call";
};

/** A subagent as listed in its parent's registry. */
export type ChildView = {
  agentId: string;
  definition: string;
  failure?: string;
  isBlocking?: boolean;
  isResumable?: boolean;
  lifecycle: "failed" | "idle" | "running" | "terminated";
  name?: string;
  statusText?: string;
};

/** Whether the command had an effect. */
export type CommandAnswer = { applied: boolean };

/** Where the engine sums up after the turn, before the next call, and drops the oldest. */
export type ContextMarks = { critical: number; full: number; warning: number };

/** One message of the conversation. */
export type ContextMessage = { parts: Array<ContextPart>; role: "assistant" | "tool" | "user"; tokens: number };

/** A piece of a message; of an image there is only what it is. */
export type ContextPart = {
  call?: string;
  isError?: boolean;
  name?: string;
  text: string;
  type: "call" | "image" | "result" | "text" | "thinking";
};

/** A part of the system prompt, or of what comes after the conversation. */
export type ContextSection = { name: string; text: string; tokens: number };

/** What stands for the older part of the conversation. */
export type ContextSummary = {
  at: string | null;
  keptFrom: number;
  reason: string;
  tokens: number;
  tokensBefore: number;
};

/** Estimates by part, and the sum as the engine counts it. */
export type ContextTokens = {
  closing: number;
  corrected: number;
  estimated: number;
  messages: number;
  system: number;
  tools: number;
};

/** A tool as the model is told of it. */
export type ContextTool = {
  description: string;
  name: string;
  parameters: Record<string, unknown>;
  tokens: number;
};

/** All that a model would be sent now. */
export type ContextView = {
  agentId: string;
  blocked: string | null;
  closing: Array<ContextSection>;
  definition: string;
  hooks: Array<string>;
  limit: number;
  marks: ContextMarks;
  messages: Array<ContextMessage>;
  model: string;
  pressure: "critical" | "full" | "low" | "warning";
  reported: TokenSnapshot | null;
  side: string;
  summary: ContextSummary | null;
  system: Array<ContextSection>;
  tokens: ContextTokens;
  tools: Array<ContextTool>;
};

/** A definition in a list. */
export type DefinitionEntry = {
  color: string | null;
  description: string;
  displayName: string;
  file: string;
  icon: string | null;
  isDefault: boolean;
  isPublic: boolean;
  model: string | null;
  name: string;
  package: GraphPackage | null;
  sides: Array<SideEntry>;
  type: "ai_human" | "dual_ai";
  uiVisible: boolean;
  warnings: Array<string>;
};

/** A definition, first, with everything that it uses, and the load errors of those files. */
export type DefinitionGraph = {
  definitions: Array<GraphDefinition>;
  problems: Array<ProblemEntry>;
  prompts: Array<GraphPrompt>;
};

/** All definitions, and load errors. */
export type DefinitionList = { definitions: Array<DefinitionEntry>; problems: Array<ProblemEntry> };

/** Definitions or their load errors changed. Reload them. */
export type DefinitionsEvent = { type: "definitions" };

/** The next part of a streamed response. */
export type DeltaEvent = {
  agentId: string;
  kind: "call" | "text" | "thinking";
  name?: string;
  part: number;
  step: string;
  text: string;
  type: "delta";
};

/** The body of every error response. */
export type ErrorAnswer = { error: ErrorDetail };

/** An error: `code` is stable, `message` is for people. */
export type ErrorDetail = { code: string; details?: Record<string, unknown>; message: string };

/** A form field. For text, `minimum` and `maximum` are lengths in characters. */
export type FieldView = {
  choices?: Array<string>;
  default?: string | number | boolean | null;
  description?: string;
  label?: string;
  maximum?: number | null;
  minimum?: number | null;
  name: string;
  required?: boolean;
  type: "boolean" | "choice" | "date" | "integer" | "number" | "secret" | "string" | "text";
};

/** A file of an agent's own tree. */
export type FileEntry = {
  id: string;
  mimeType: string;
  modifiedAt: string;
  name: string;
  path: string;
  size: number;
};

/** The contents of a folder of an agent's own tree. */
export type FileList = { files: Array<FileEntry>; folders: Array<FolderEntry> };

/** A reference in a message to a file of the agent. */
export type FileReference = { id: string; mimeType: string; name: string; path: string; size: number };

/** A folder of an agent's own tree. */
export type FolderEntry = { modifiedAt: string; name: string; path: string };

/** How a window handled a request to open something. */
export type Followed = { how: "offered" | "opened"; show: string };

/** A request to show something that the window has opened or offers to open. */
export type FollowedEntry = { how: "offered" | "opened"; show: string };

/** A definition with its sides. */
export type GraphDefinition = {
  description: string;
  displayName: string;
  file: string;
  hooks: Array<GraphHook>;
  isPublic: boolean;
  lists: Array<GraphList>;
  maxSessionTurns: number | null;
  model: string | null;
  name: string;
  package: GraphPackage | null;
  sides: Array<GraphSide>;
  type: "ai_human" | "dual_ai";
  warnings: Array<string>;
};

/** Something that a prompt can call. */
export type GraphEntry = {
  isBlocking: boolean;
  isImmediate: boolean;
  isResumable: boolean;
  kind: "handoff" | "prompt" | "subagent" | "tool";
  name: string;
  optional: string | null;
  target: string;
};

/** A hook by its id, and the point of a run where it applies. */
export type GraphHook = { id: string; kind: string };

/** A list that limits what a definition may use, by the name of its field. */
export type GraphList = {
  name: "agentAllowlist" | "agentDenylist" | "capabilityAllowlist" | "capabilityDenylist" | "skillAllowlist" | "skillDenylist" | "toolAllowlist" | "toolApprovals" | "toolDenylist";
  patterns: Array<string>;
};

/** The package that contains a definition. */
export type GraphPackage = { name: string; version: string };

/** A prompt; without a list it can call every tool that its definition allows. */
export type GraphPrompt = {
  file: string;
  hooks: Array<GraphHook>;
  model: string | null;
  name: string;
  tools: Array<GraphEntry> | null;
};

/** A tool whose call ends a turn or a run, or reports its status. */
export type GraphRule = { name: "session_fail" | "session_status" | "session_stop" | "stop_tool"; tool: string };

/** A side that is played by a model. */
export type GraphSide = {
  label: string;
  maxSteps: number | null;
  name: "side_a" | "side_b";
  prompt: GraphPrompt;
  rules: Array<GraphRule>;
  stopsOnResponse: boolean;
};

/** Another definition takes over the conversation, optionally with instructions. */
export type HandoffRecord = {
  at?: string;
  files?: Array<FileReference>;
  kind: "handoff";
  seq?: number;
  source: string;
  target: string;
  text?: string;
  v?: number;
};

/** The server's health; `reason` says what is wrong. */
export type Health = { reason: string; status: "degraded" | "ok"; store: StoreHealth; version: string };

/** The tasks to run; all if empty. */
export type HeartbeatOrder = { tasks?: Array<string> };

/** The agent of the heartbeat. */
export type HeartbeatPlace = { type: "heartbeat" };

/** Whether a batch was started; none is while one is running. */
export type HeartbeatRun = { agentId: string | null; applied: boolean; messageId: string | null };

/** The heartbeat: its tasks, recent runs and problems. */
export type HeartbeatView = {
  agentId: string | null;
  enabled: boolean;
  problem: string;
  problems: Array<TaskProblemView>;
  runs: Array<SlotView>;
  tasks: Array<TaskView>;
};

/** The first event of a stream, with its start position. */
export type HelloEvent = { cursor: number; type: "hello" };

/** Records, oldest first; `cursor` is the next `after`, `first` the next `before`. */
export type HistoryPage = { cursor: number; first: number; hasMore: boolean; records: Array<HistoryRecord> };

/** One line of history. Newer servers may send other kinds. */
export type HistoryRecord = StartRecord | ResetRecord | UserRecord | SystemRecord | AssistantRecord | ToolRecord | SummaryRecord | NoteRecord | RunRecord | HandoffRecord;

/** All panels of one window. */
export type Inventory = {
  layout?: Record<string, unknown>;
  panels?: Array<Panel>;
  selectedChatPanelId?: string | null;
  selectedPanelId?: string | null;
  shown?: Array<Followed>;
};

/** An item was added to an inbox, or its fate changed. */
export type ItemEvent = { agentId: string; cursor: number; item: ItemView; type: "item" };

/** An inbox item as clients see it. */
export type ItemView = {
  agentId: string;
  at: string;
  endedAt?: string | null;
  fate: string;
  files?: Array<unknown>;
  id: string;
  kind: string;
  reason?: string;
  replySeq?: number | null;
  sender: Record<string, unknown>;
  seq: number;
  silent?: boolean;
  text: string;
};

/** A skill as clients list it, regardless of which agents may use it. */
export type KnownSkill = {
  compatibility?: string;
  description: string;
  file?: string;
  kind: "plugin" | "project";
  license?: string;
  name: string;
};

/** How long the inventory stays valid unless it is sent again. */
export type Lease = { leaseSeconds: number };

/** The owner that the browser is logged in as. */
export type LoggedIn = { owner: string };

/** A one-time code from the printed link, or the token. */
export type Login = { code?: string; token?: string };

/** A code that logs one browser in, once, within ten minutes. */
export type LoginCode = { code: string };

/** A message with its position, fate and reply. */
export type MessageAnswer = {
  agentId: string;
  at: string;
  endedAt: string | null;
  fate: string;
  files: Array<unknown>;
  id: string;
  kind: string;
  position: number;
  reason: string;
  reply: string;
  replySeq: number | null;
  sender: Record<string, unknown>;
  seq: number;
  silent: boolean;
  text: string;
  waitingUntil: string | null;
  waits: Array<WaitView>;
};

/** Messages without a final fate, in order of admission. */
export type MessageList = { items: Array<MessageAnswer> };

/** Tokens of one model call that a tool made. */
export type ModelUsage = { model: string; usage: Usage };

/** An agent to create or, with a descriptor, to find or create. */
export type NewAgent = {
  attributes?: Record<string, unknown> | null;
  definition?: string | null;
  descriptor?: UserPlace | SystemPlace | HeartbeatPlace | SwarmPlace | null;
  env?: Record<string, string> | null;
  name?: string | null;
};

/** A message to an agent; repeating a `key` returns the first message. */
export type NewMessage = { attachments?: Array<string>; content: string; key?: string | null; silent?: boolean };

/** A value to store; no response ever contains it. */
export type NewValue = { value: string };

/** A notice for people that is not shown to the model. */
export type NoteRecord = {
  agent?: string | null;
  at?: string;
  code: string;
  item?: string | null;
  kind: "note";
  seq?: number;
  text: string;
  until?: string | null;
  v?: number;
};

/** A call of an operation. */
export type OperationCall = { agentId?: string | null; arguments?: Record<string, unknown>; key?: string | null };

/** One operation of a plugin. */
export type OperationEntry = {
  capabilities: Array<string>;
  description: string;
  effect: "keyed" | "once" | "pure";
  id: string;
  needsAgent: boolean;
  parameters: Record<string, unknown>;
  summary: string;
  tool: string;
};

/** The result of an operation: text or JSON. */
export type OperationResult = { result: unknown };

/** One open panel. */
export type Panel = {
  binding?: Record<string, unknown>;
  context?: Record<string, unknown>;
  panelId: string;
  panelTitle?: string;
  panelType: string;
  visible?: boolean;
};

/** One open panel. */
export type PanelEntry = {
  binding?: Record<string, unknown>;
  context?: Record<string, unknown>;
  panelId: string;
  panelTitle?: string;
  panelType: string;
  visible?: boolean;
};

/** All panels of one window, and the selected ones. */
export type PanelInventory = {
  layout?: Record<string, unknown>;
  panels: Array<PanelEntry>;
  selectedChatPanelId?: string | null;
  selectedPanelId?: string | null;
  shown?: Array<FollowedEntry>;
};

/** A plugin; `file` is empty for built-in ones. */
export type PluginEntry = {
  description: string;
  file: string;
  id: string;
  operations: Array<OperationEntry>;
  title: string;
};

/** All plugins, and load errors. */
export type PluginList = { plugins: Array<PluginEntry>; problems: Array<ProblemEntry> };

/** An error or warning of a file. */
export type ProblemEntry = {
  field: string;
  file: string;
  line: number | null;
  message: string;
  severity: "error" | "warning";
  usingLastGood: boolean;
};

/** Values for a waiting subagent, by name. */
export type Provided = { env: Record<string, string> };

/** A record was appended. */
export type RecordEvent = { agentId: string; cursor: number; record: HistoryRecord; type: "record" };

/** A refused call. */
export type RefusalEntry = {
  agentId: string;
  at: string;
  kind: "skill" | "tool";
  name: string;
  number: number;
  rule: string;
};

/** Refused calls, newest first. */
export type RefusalList = { hasMore: boolean; refusals: Array<RefusalEntry> };

/** A permission, an approval or a question, and its outcome. */
export type RequestEntry = {
  agentId: string;
  arguments: string;
  call: string;
  consequence: string;
  createdAt: string;
  decidedAt: string | null;
  decidedBy: string;
  definition: string;
  digest: string;
  expiresAt: string;
  fields: Array<FieldView>;
  headline: string;
  id: string;
  isBackground: boolean;
  kind: "approval" | "permission" | "question" | "variables";
  note: string;
  permission: string;
  reason: string;
  requester: string;
  status: "allowed" | "answered" | "denied" | "expired" | "pending" | "void";
  title: string;
  tool: string;
  values: Record<string, unknown>;
};

/** A request to the owner was created, decided, or closed without a decision. */
export type RequestEvent = { agentId: string; cursor: number; request: RequestView; type: "request" };

/** Requests, newest first; `next_before` is for the next page. */
export type RequestList = { nextBefore: string | null; requests: Array<RequestEntry> };

/** A request to the owner as clients see it, complete and with invisible characters shown. */
export type RequestView = {
  agentId: string;
  arguments?: string;
  call: string;
  consequence: string;
  createdAt: string;
  decidedAt?: string | null;
  decidedBy?: string;
  definition?: string;
  digest: string;
  expiresAt: string;
  fields?: Array<FieldView>;
  headline: string;
  id: string;
  isBackground?: boolean;
  kind: "approval" | "permission" | "question" | "variables";
  note?: string;
  permission?: string;
  reason?: string;
  requester?: string;
  status: "allowed" | "answered" | "denied" | "expired" | "pending" | "void";
  title?: string;
  tool?: string;
  values?: Record<string, unknown>;
};

/** A reset; the reason is recorded. */
export type ResetOrder = { reason?: string };

/** The context was cleared; it starts after this record. */
export type ResetRecord = { at?: string; kind: "reset"; reason?: string; seq?: number; v?: number };

/** The cursor is too old to replay from. Reload lists and histories, then continue from here. */
export type ResyncEvent = { cursor: number; type: "resync" };

/** A schedule's runs, newest first. */
export type RunList = { runs: Array<SlotView> };

/** The end of a run: the result or failure that is reported to its initiator. */
export type RunRecord = {
  at?: string;
  code: string;
  files?: Array<FileReference>;
  kind: "run";
  outcome: "completed" | "failed";
  seq?: number;
  steps?: number;
  text: string;
  turns?: number;
  v?: number;
};

/** A new schedule: `cron` repeats, `at` runs once. */
export type ScheduleBody = {
  at?: string | null;
  catchUp?: "once" | "skip";
  cron?: string | null;
  definition?: string | null;
  key?: string | null;
  paused?: boolean;
  prompt: string;
  reportTo?: string | null;
  target?: string | null;
  timezone?: string | null;
  title: string;
  watch?: WatchOrder | null;
};

/** All schedules, next due first. */
export type ScheduleList = { schedules: Array<ScheduleView>; timezone: string };

/** Fields to change; absent fields stay, null clears. */
export type SchedulePatch = {
  at?: string;
  catchUp?: "once" | "skip";
  cron?: string;
  definition?: string | null;
  paused?: boolean;
  prompt?: string;
  reportTo?: string | null;
  target?: string | null;
  timezone?: string;
  title?: string;
  watch?: WatchOrder | null;
};

/** A schedule as clients see it. */
export type ScheduleView = {
  at: string | null;
  catchUp: "once" | "skip";
  createdAt: string;
  cron: string | null;
  definition: string | null;
  id: string;
  last: SlotView | null;
  nextAt: string | null;
  paused: boolean;
  problem: string;
  prompt: string;
  reportTo: string | null;
  source: "http" | "settings" | "tool";
  state: "done" | "paused" | "running" | "waiting";
  target: string | null;
  timezone: string;
  title: string;
  watch: WatchView | null;
};

/** Schedules, heartbeat tasks or their watches changed. Reload them. */
export type SchedulesEvent = { type: "schedules" };

/** An MCP server of the settings, and its state. */
export type ServerEntry = {
  name: string;
  problems: Array<string>;
  state: "connected" | "connecting" | "lost" | "off";
  tools: number;
};

/** All MCP servers of the settings. */
export type ServerList = { servers: Array<ServerEntry> };

/** A request to one window to open a list, note or view; other windows ignore it. */
export type ShowEvent = {
  by?: string | null;
  id: string;
  kind: "item" | "list" | "note" | "view";
  name: string;
  panelId?: string | null;
  show: string;
  type: "show";
  windowId: string;
};

/** A side with a model. */
export type SideEntry = { label: string; name: "side_a" | "side_b" };

/** All skills, and load errors. */
export type SkillList = { problems: Array<ProblemEntry>; skills: Array<KnownSkill> };

/** One scheduled time and its outcome. */
export type SlotView = {
  agentId: string | null;
  at: string;
  difference: string;
  dueAt: string;
  endedAt: string | null;
  fate: string | null;
  fateReason: string;
  messageId: string | null;
  reason: string;
  status: "failed" | "fired" | "run_now" | "skipped_missed" | "skipped_overlap";
};

/** The start of an agent's history. */
export type StartRecord = { at?: string; kind: "start"; seq?: number; v?: number };

/** A model call started, or its streamed output was discarded (because of a retry or a stop). */
export type StepEvent = {
  agentId: string;
  model?: string;
  side?: string;
  state: "discarded" | "started";
  step: string;
  type: "step";
};

/** The store's health; the numbers need authentication. */
export type StoreHealth = {
  agents?: number;
  bytes?: number;
  cursor?: number;
  deliveriesOpen?: number;
  itemsOpen?: number;
  kind?: string;
  ok: boolean;
  problems?: Array<string>;
  schema?: number;
};

export type StreamEvent = HelloEvent | ResyncEvent | RecordEvent | ItemEvent | RequestEvent | AgentEvent | AgentDeletedEvent | ArtifactEvent | StepEvent | DeltaEvent | ToolEvent | DefinitionsEvent | SchedulesEvent | ShowEvent;

/** The started subagent; its result reaches the parent as a message. */
export type SubagentBegun = { child_thread_id: string; request_id: string; status: "success" };

/** A WebSocket client's subscription; a new one replaces it. */
export type Subscribe = { after?: number | null; agent?: string | null; type: "subscribe" };

/** A summary that replaces everything before `keep_from` in the context. */
export type SummaryRecord = {
  at?: string;
  keepFrom: number;
  kind: "summary";
  model?: string;
  reason: "command" | "critical" | "emergency" | "overflow" | "warning";
  seq?: number;
  text: string;
  tokensAfter?: number;
  tokensBefore?: number;
  usage?: Usage | null;
  v?: number;
};

/** A configured swarm's agent for one contact. */
export type SwarmPlace = { contactAgentId: string; id: string; type: "swarm" };

/** A switch back; `from` is the agent to leave, if the chat's agent does not know it. */
export type SwitchBackOrder = { from?: string | null };

/** The system agent of a configured tag. */
export type SystemPlace = { tag: string; type: "system" };

/** A message from another agent or from the engine, never from a person. */
export type SystemRecord = {
  at?: string;
  files?: Array<FileReference>;
  item?: string | null;
  kind: "system";
  origin: string;
  seq?: number;
  silent?: boolean;
  text: string;
  to?: string;
  v?: number;
};

/** A heartbeat file that fails to load. */
export type TaskProblemView = { file: string; message: string; usingLastGood: boolean };

/** A heartbeat task as clients see it. */
export type TaskView = {
  everySeconds: number;
  id: string;
  lastRunAt: string | null;
  nextAt: string | null;
  prompt: string;
  title: string;
  watch: WatchView | null;
};

/** The ids of the agents that ended; empty if the agent had already ended. */
export type TerminateAnswer = { applied: boolean; ended: Array<string> };

/** A termination; the reason is recorded. */
export type TerminateOrder = { reason?: string };

/** Text from the model. */
export type TextPart = { text: string; type: "text" };

/** Reasoning from the model, with the provider's signature if there is one. */
export type ThinkingPart = {
  provider?: Record<string, unknown> | null;
  signature?: string | null;
  text: string;
  type: "thinking";
};

/** The size of the last model call: reported by the provider, and estimated. */
export type TokenSnapshot = { estimated: number; model: string; reported: number };

/** Totals over all calls of one model; not cleared by a reset. */
export type TokenStats = {
  cacheRead?: number;
  cacheWrite?: number;
  calls?: number;
  input?: number;
  output?: number;
};

/** A tool that the agent may use. */
export type ToolEntry = {
  capabilities: Array<string>;
  description: string;
  effect: "keyed" | "once" | "pure" | "verifiable";
  name: string;
  source: string;
};

/** A tool call started or reported progress. */
export type ToolEvent = {
  agentId: string;
  call: string;
  name: string;
  state: "progress" | "started";
  text?: string;
  type: "tool";
};

/** The tools in an agent's scope. */
export type ToolList = { tools: Array<ToolEntry> };

/** The result of one tool call. */
export type ToolRecord = {
  agent?: string | null;
  asked?: Array<ModelUsage>;
  at?: string;
  call: string;
  cut?: number;
  durationMs?: number;
  files?: Array<FileReference>;
  kind: "tool";
  name: string;
  seq?: number;
  status: "cancelled" | "erased" | "error" | "interrupted" | "ok" | "pending" | "refused" | "skipped" | "unknown";
  text: string;
  v?: number;
};

/** An agent and its children; `hidden` counts the children left out. */
export type TreeBranch = { agent: AgentEntry; children: Array<TreeBranch>; hidden: number };

/** Tokens of one model call, as reported by the provider. */
export type Usage = { cacheRead?: number; cacheWrite?: number; input?: number; output?: number };

/** Calls and tokens of one key; the cost covers the models that have a price. */
export type UsageLine = {
  cacheRead?: number;
  cacheWrite?: number;
  calls?: number;
  cost?: number | null;
  input?: number;
  isPartial?: boolean;
  key: string;
  name: string;
  output?: number;
};

/** Usage between two days (inclusive, UTC), with the largest keys first. */
export type UsageReport = {
  by: "agent" | "day" | "definition" | "model";
  currency: string;
  from: string | null;
  hidden: number;
  lines: Array<UsageLine>;
  to: string | null;
  total: UsageLine;
  unpriced: Array<string>;
};

/** A chat. */
export type UserPlace = { channelId: string; connector: string; type: "user"; userId: string };

/** A person's message. */
export type UserRecord = {
  at?: string;
  files?: Array<FileReference>;
  item: string;
  kind: "user";
  sender?: string;
  seq?: number;
  text: string;
  to?: string;
  v?: number;
};

/** A variable's name and description, and the scope that sets its value. */
export type VariableEntry = {
  description: string;
  isDeclared: boolean;
  isRequired: boolean;
  isScoped: boolean;
  name: string;
  problem: string;
  scope: "account" | "agent" | "call" | "instance" | "prompt" | "thread" | null;
  type: "secret" | "text";
};

/** Variables of an account or an agent. */
export type VariableList = { variables: Array<VariableEntry> };

/** The variables that a subagent needs before it starts. */
export type VariablesWanted = {
  agent: string;
  expires_at: string;
  missing: Array<string>;
  parent_thread_id: string;
  request_id: string;
  required: Array<string>;
};

/** The owner's decision; `values` answers a question. */
export type Verdict = { decision: "allow" | "deny"; note?: string; values?: Record<string, unknown> };

/** A tool call in the current turn that waits for its result. */
export type WaitView = {
  agentId?: string | null;
  call: string;
  itemId?: string | null;
  reason: string;
  request?: string | null;
  until?: string | null;
};

/** What to check before the agent is woken: exactly one of these. */
export type WatchOrder = {
  command?: string | null;
  file?: string | null;
  list?: string | null;
  url?: string | null;
};

/** The watched resource and the result of the last check. */
export type WatchView = {
  changedAt: string | null;
  checkedAt: string | null;
  kind: "command" | "file" | "list" | "url";
  problem: string;
  what: string;
};

/** A window that is open now. */
export type WindowEntry = { inventory: Inventory; windowId: string };

/** The windows of one owner. */
export type WindowList = { windows: Array<WindowEntry> };
