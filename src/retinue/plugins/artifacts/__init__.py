"""Lists, notes and views: what owners and their agents keep and look through."""
