/** The server's types under the names used here, narrowed where the schema is too general. */

import type * as wire from "./generated";

export type {
  AgentChanges,
  AgentList,
  AgentTree,
  AgentView,
  ArtifactEvent,
  ChildView,
  ContextMessage,
  ContextView,
  DefinitionEntry,
  DefinitionGraph,
  DefinitionList,
  FieldView as FormField,
  FileEntry,
  FileList,
  FileReference,
  GraphDefinition,
  GraphEntry,
  GraphHook,
  GraphPrompt,
  Health,
  HeartbeatView,
  PluginList,
  ProblemEntry,
  RefusalEntry,
  RefusalList,
  RequestList,
  RequestView,
  RunList,
  ScheduleBody,
  ScheduleList,
  SchedulePatch,
  ScheduleView,
  ServerEntry,
  ServerList,
  ShowEvent,
  SkillList,
  SlotView,
  SystemRecord,
  TreeBranch,
  Usage,
  UsageLine,
  UsageReport,
  VariableEntry,
  VariableList,
  VariablesWanted,
  Verdict,
  WaitView,
  WatchView,
} from "./generated";

export type UsageKey = wire.UsageReport["by"];

/** Committed records always have a sequence number and a time. */
type Stamped<R> = R & { seq: number; at: string };

export type StartRecord = Stamped<wire.StartRecord>;
export type ResetRecord = Stamped<wire.ResetRecord>;
export type UserRecord = Stamped<wire.UserRecord>;
export type AssistantRecord = Stamped<wire.AssistantRecord>;
export type ToolRecord = Stamped<wire.ToolRecord>;
export type SummaryRecord = Stamped<wire.SummaryRecord>;
export type NoteRecord = Stamped<wire.NoteRecord>;
export type RunRecord = Stamped<wire.RunRecord>;
export type HandoffRecord = Stamped<wire.HandoffRecord>;
export type KnownRecord =
  | StartRecord
  | ResetRecord
  | UserRecord
  | Stamped<wire.SystemRecord>
  | AssistantRecord
  | ToolRecord
  | SummaryRecord
  | NoteRecord
  | RunRecord
  | HandoffRecord;

export type ToolStatus = ToolRecord["status"];

export type Fate =
  | "queued"
  | "running"
  | "waiting"
  | "answered"
  | "failed"
  | "cancelled"
  | "refused"
  | "expired";

export type ItemView = Omit<wire.ItemView, "fate" | "files" | "sender"> & {
  fate: Fate;
  files?: wire.FileReference[];
  sender: { type: string; id?: string; connector?: string };
};

export type HistoryPage = Omit<wire.HistoryPage, "records"> & { records: KnownRecord[] };

export type CommittedEvent =
  | (Omit<wire.RecordEvent, "record"> & { record: KnownRecord })
  | (Omit<wire.ItemEvent, "item"> & { item: ItemView })
  | wire.RequestEvent
  | wire.AgentEvent
  | wire.AgentDeletedEvent
  | wire.ArtifactEvent;

export type LiveEvent =
  | wire.StepEvent
  | wire.DeltaEvent
  | wire.ToolEvent
  | wire.DefinitionsEvent
  | wire.SchedulesEvent
  | wire.ShowEvent;
export type StreamEvent = wire.HelloEvent | wire.ResyncEvent | CommittedEvent | LiveEvent;
