// The plan of the restore suites, and how its steps are written: an effect, a question, and an effect after the answer. Each
// effect writes its step's id, so that one done twice shows.
export const tool = (id: string, name: string, dependsOn: string[] = [], more: object = {}) => ({ id, title: id, dependsOn, action: { type: 'tool', tool: name, args: { text: id, ...more } } });
const ask = (id: string, dependsOn: string[]) => ({ id, title: id, dependsOn, action: { type: 'question', question: `${id}?` } });
export const PLAN = { goal: 'Do each thing once', steps: [tool('first', 'stamp'), ask('go', ['first']), tool('second', 'stamp', ['go'])] };
