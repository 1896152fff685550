/** The HTTP client: one function per API call. */

import type {
  AgentChanges,
  AgentList,
  AgentTree,
  AgentView,
  ContextView,
  DefinitionGraph,
  DefinitionList,
  FileList,
  FileReference,
  Health,
  HeartbeatView,
  HistoryPage,
  ItemView,
  PluginList,
  RefusalList,
  RequestList,
  RequestView,
  RunList,
  ScheduleBody,
  ScheduleList,
  SchedulePatch,
  ScheduleView,
  ServerList,
  SkillList,
  UsageKey,
  UsageReport,
  VariableList,
  VariablesWanted,
  Verdict,
} from "./types";

/** A failed request; `status` 0 means that no server answered. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details?: unknown,
  ) {
    super(message);
  }

  get isUnreachable(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }

  get isSignedOut(): boolean {
    return this.status === 401;
  }
}

type Body = { json: unknown } | { file: File } | undefined;

const signedOut = new Set<() => void>();

/** Calls `listener` when the server reports that this browser is not signed in. */
export function onSignedOut(listener: () => void): void {
  signedOut.add(listener);
}

async function request(method: string, path: string, body?: Body): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (method !== "GET") headers["X-Retinue"] = "1";
  if (body && "json" in body) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body.json);
  } else if (body) {
    headers["Content-Type"] = body.file.type || "application/octet-stream";
    init.body = body.file;
  }
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new ApiError(0, "unreachable", "Can’t reach the server.");
  }
  if (response.ok) return response;
  const error = await failure(response);
  if (error.isSignedOut && path !== "/api/login") for (const listener of signedOut) listener();
  throw error;
}

async function failure(response: Response): Promise<ApiError> {
  const fallback = `The server returned error ${response.status}.`;
  try {
    const { error } = await response.json();
    return new ApiError(
      response.status,
      error?.code ?? "error",
      error?.message ?? fallback,
      error?.details,
    );
  } catch {
    return new ApiError(response.status, "error", fallback);
  }
}

async function json<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await request(method, path, method === "GET" ? undefined : { json: body ?? {} });
  return response.status === 204 ? (undefined as T) : ((await response.json()) as T);
}

function query(parameters: Record<string, string | number | null | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return text ? `?${text}` : "";
}

const agentPath = (id: string) => `/api/agents/${encodeURIComponent(id)}`;

const variablesPath = (agentId: string | null) =>
  agentId ? `${agentPath(agentId)}/variables` : "/api/variables";
const variablePath = (agentId: string | null, name: string) =>
  `${variablesPath(agentId)}/${encodeURIComponent(name)}`;
const wantedPath = (agentId: string, requestId: string) =>
  `/api/threads/${encodeURIComponent(agentId)}/variables/${encodeURIComponent(requestId)}`;

const schedulePath = (id: string) => `/api/schedules/${encodeURIComponent(id)}`;

/** The URL of one of the agent's files. */
export function fileUrl(agentId: string, path: string): string {
  const parts = path.split("/").filter((part) => part && part !== "." && part !== "..");
  return `${agentPath(agentId)}/files/${parts.map(encodeURIComponent).join("/")}`;
}

export const api = {
  signIn: (credential: { code: string } | { token: string }) =>
    json<void>("POST", "/api/login", credential),
  health: () => json<Health>("GET", "/api/health"),
  definitionGraph: (name: string) =>
    json<DefinitionGraph>("GET", `/api/definitions/${encodeURIComponent(name)}/graph`),
  /** Includes definitions that are private to a package, because their agents are shown too. */
  definitions: () => json<DefinitionList>("GET", "/api/definitions?private=true"),

  agents: (
    filter: {
      kind?: string;
      query?: string;
      limit?: number;
      cursor?: string | null | undefined;
    } = {},
  ) => json<AgentList>("GET", `/api/agents${query(filter)}`),
  tree: (id: string) => json<AgentTree>("GET", `${agentPath(id)}/tree`),
  agent: (id: string) => json<AgentView>("GET", agentPath(id)),
  create: (definition: string) => json<AgentView>("POST", "/api/agents", { definition }),
  update: (id: string, patch: AgentChanges) => json<AgentView>("PATCH", agentPath(id), patch),
  remove: async (id: string) => {
    await request("DELETE", agentPath(id));
  },

  send: (id: string, message: { content: string; attachments?: string[]; key: string }) =>
    json<unknown>("POST", `${agentPath(id)}/messages`, message),
  /** Cancels a queued message; false when it is no longer queued. */
  withdraw: async (id: string, message: string): Promise<boolean> => {
    const response = await request(
      "DELETE",
      `${agentPath(id)}/messages/${encodeURIComponent(message)}`,
    );
    return ((await response.json()) as { applied: boolean }).applied;
  },
  openItems: (id: string) => json<{ items: ItemView[] }>("GET", `${agentPath(id)}/messages`),
  history: (id: string, page: { before?: number; after?: number; limit: number }) =>
    json<HistoryPage>("GET", `${agentPath(id)}/history${query(page)}`),

  requests: (filter: {
    status?: string;
    agent?: string;
    before?: string | null | undefined;
    limit?: number;
  }) => json<RequestList>("GET", `/api/permissions${query(filter)}`),
  request: (id: string) => json<RequestView>("GET", `/api/permissions/${encodeURIComponent(id)}`),
  decide: (id: string, decision: Verdict) =>
    json<RequestView>("POST", `/api/permissions/${encodeURIComponent(id)}`, decision),

  usage: (filter: { by: UsageKey; from?: string | undefined; to?: string }) =>
    json<UsageReport>("GET", `/api/usage${query(filter)}`),

  /** Account variables when `agentId` is null. The response has names but never values. */
  variables: (agentId: string | null) => json<VariableList>("GET", variablesPath(agentId)),
  setVariable: (agentId: string | null, name: string, value: string) =>
    json<void>("PUT", variablePath(agentId, name), { value }),
  unsetVariable: (agentId: string | null, name: string) =>
    json<void>("DELETE", variablePath(agentId, name)),
  variablesWanted: (agentId: string, requestId: string) =>
    json<VariablesWanted>("GET", wantedPath(agentId, requestId)),
  provideVariables: (agentId: string, requestId: string, env: Record<string, string>) =>
    json<unknown>("POST", wantedPath(agentId, requestId), { env }),

  schedules: () => json<ScheduleList>("GET", "/api/schedules"),
  createSchedule: (schedule: ScheduleBody) =>
    json<ScheduleView>("POST", "/api/schedules", schedule),
  changeSchedule: (id: string, changes: SchedulePatch) =>
    json<ScheduleView>("PATCH", schedulePath(id), changes),
  removeSchedule: (id: string) => json<void>("DELETE", schedulePath(id)),
  runSchedule: (id: string) => json<unknown>("POST", `${schedulePath(id)}/run`),
  runsOf: (id: string) => json<RunList>("GET", `${schedulePath(id)}/runs`),
  heartbeat: () => json<HeartbeatView>("GET", "/api/heartbeat"),
  runHeartbeatTask: (task: string) =>
    json<{ applied: boolean }>("POST", "/api/heartbeat/run", { tasks: [task] }),

  context: (id: string) => json<ContextView>("GET", `${agentPath(id)}/context`),
  reportWindow: (id: string, inventory: object) =>
    json<unknown>("PUT", `/api/windows/${encodeURIComponent(id)}`, inventory),

  reset: (id: string) => json<unknown>("POST", `${agentPath(id)}/reset`),
  switchBack: (id: string, from: string) =>
    json<unknown>("POST", `${agentPath(id)}/switch-back`, { from }),
  terminate: (id: string) => json<unknown>("POST", `${agentPath(id)}/terminate`),
  stop: (id: string) => json<unknown>("POST", `${agentPath(id)}/stop`),

  files: (id: string, path: string) =>
    json<FileList>("GET", `${agentPath(id)}/files${query({ path })}`),
  fileBytes: async (id: string, path: string): Promise<ArrayBuffer> =>
    (await request("GET", fileUrl(id, path))).arrayBuffer(),
  removeFile: async (id: string, path: string): Promise<void> => {
    await request("DELETE", fileUrl(id, path));
  },
  /** Calls a plugin operation as the user; a key makes retries take effect once. */
  operate: async <T>(
    plugin: string,
    operation: string,
    given: object,
    key?: string,
  ): Promise<T> => {
    const path = `/api/plugins/${encodeURIComponent(plugin)}/operations/${encodeURIComponent(operation)}`;
    const body = { arguments: given, ...(key && { key }) };
    return (await json<{ result: T }>("POST", path, body)).result;
  },
  skills: () => json<SkillList>("GET", "/api/skills"),
  servers: () => json<ServerList>("GET", "/api/mcp"),
  refusals: (before?: number) =>
    json<RefusalList>("GET", `/api/refusals${before ? `?before=${before}` : ""}`),
  plugins: () => json<PluginList>("GET", "/api/plugins"),
  upload: async (id: string, path: string, file: File): Promise<FileReference> => {
    const response = await request("PUT", fileUrl(id, path), { file });
    return (await response.json()) as FileReference;
  },
};
