// The process groups that tools of this process have started. Tells whoever has asked for it of each one before it may begin, so
// that it can be ended by another process when this one is gone. Ends only groups that a process below has started, when that is over.
// One list for the whole process: the configuration may have loaded this module a second time.
import type { ChildProcess } from 'node:child_process';
import { identify, killGroup, type ProcessIdentity } from '../temporal/process-identity';

/** Is told of a group by its leader; what it answers is called when the whole group has been killed. */
export type GroupNote = (leader: ProcessIdentity) => () => void;

const NOTES = Symbol.for('longhaul.process-groups');
const notes = ((globalThis as { [NOTES]?: Set<GroupNote> })[NOTES] ??= new Set<GroupNote>());

/** From now on `note` is told of every group; the answer ends that. */
export function installGroupNote(note: GroupNote): () => void {
  notes.add(note);
  return () => { notes.delete(note); };
}

/** Groups that the process of an isolated tool has started: noted here like its own, and killed with it. */
export interface GroupsBelow { group(leader: ProcessIdentity): string; ended(leader: ProcessIdentity): string; end(): void }

export function groupsBelow(): GroupsBelow {
  const open = new Map<string, { leader: ProcessIdentity; over: () => void }>();
  const keyOf = ({ pid, startedAt }: ProcessIdentity): string => `${pid} ${startedAt}`;
  const ended = (key: string): string => {
    open.get(key)?.over();
    open.delete(key);
    return '';
  };
  return {
    group: (leader) => {
      open.set(keyOf(leader), { leader, over: told(leader) });
      return '';
    },
    ended: (leader) => ended(keyOf(leader)),
    end: () => {
      for (const [key, { leader }] of open) {
        try {
          killGroup(leader);
          ended(key);
        } catch {
          // It may not be killed from here: the note of it stays.
        }
      }
    },
  };
}

/** Tells of the group of a child that was started `detached` and has not been let begin; the answer is to be called when it was killed. */
export function noteGroup({ pid }: ChildProcess): () => void {
  const leader = pid === undefined || notes.size === 0 ? undefined : identify(pid);
  return leader ? told(leader) : () => undefined;
}

function told(leader: ProcessIdentity): () => void {
  const ended = [...notes].map((note) => note(leader));
  return () => { for (const end of ended) end(); };
}
