"""The files of a project: one watcher reads them and publishes an immutable snapshot."""
