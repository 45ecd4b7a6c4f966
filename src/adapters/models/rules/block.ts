// A block of a source text: where it begins and what stands there, as the splitters of each kind of file hand it on to sentences.

/** `whole`: not to be parted; `item`: complete without a full stop, as list items and cells of tables are; `data`: members of JSON. */
export interface Block { at: number; raw: string; whole: boolean; item?: boolean; data?: boolean }
