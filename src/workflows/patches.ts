// Registry of changes in the conductor's order of commands, one constant each: id, why, since, when it may go.
// The law has versions of its own (core/versions); `patched()` guards the conductor only and is called nowhere else.
export {};
