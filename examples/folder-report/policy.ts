// The policy of this example, in sight: who must be asked before what. The events of a run name the rule that decided.
// What no rule here covers falls to the built-in ones by effect class; what those do not cover is denied.
import { tablePolicy, type PolicyTable } from 'longhaul';

export const table: PolicyTable = {
  name: 'folder-report',
  rules: [
    {
      name: 'publish-one-local-approver', tool: 'publish', effect: 'manual', decision: 'ask', quorum: 1, approvers: [], ownerMay: true,
      why: 'The publisher of this example is on this machine: one person looks at the difference, and that may be the one who asked.',
    },
    {
      name: 'notify-local-outbox-free', tool: 'notify', effect: 'irreversible', decision: 'allow',
      why: 'The outbox of this example is a file on this machine that nobody else reads. Ask before a real one.',
    },
  ],
};

export const policy = tablePolicy(table);
