/** The commands by what people come for, each with the question that it answers. */

/** Commands of one kind: their names, and the question of each. */
export interface CommandGroup {
  title: string
  commands: readonly (readonly [id: string, question: string])[]
}

/** All commands, in the order in which `rfa -h` lists them. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    title: 'measure',
    commands: [
      ['error-sweep', 'How far is each method from exact attention?'],
      ['bench', 'How much time and memory does each method take?'],
      ['variance', 'Is an estimate of exp(q.k) unbiased? How does it vary?'],
      ['swap', 'What does a model lose with another attention?'],
      ['inputs', 'How large are the logits of my model, head by head?'],
    ],
  },
  {
    title: 'decide',
    commands: [
      ['advise', 'Should I replace exact attention, and by what?'],
      ['tune', 'How much lower is the error after a little learning?'],
      ['train', 'What does a small model learn with an attention?'],
      ['compare', 'What differs between two runs or methods beyond noise?'],
      ['claims', 'Do the claims of the papers hold?'],
    ],
  },
  {
    title: 'show',
    commands: [
      ['history', 'What did each commit change, cell by cell?'],
      ['report', 'What did a saved run find? Tables, pages, figures'],
      ['methods', 'Which methods are there, and what does each compute?'],
      ['doctor', 'Which backends run here?'],
    ],
  },
  {
    title: 'elsewhere',
    commands: [
      ['run', 'How do I run a saved plan, whole or in parts?'],
      ['merge', 'How do I join the parts of a run?'],
      ['slurm', 'How do I run a plan on a Slurm cluster?'],
    ],
  },
  {
    title: 'extend',
    commands: [
      ['check', 'Is an estimator of my own right?'],
      ['export', 'How do I write q, k and v of a model into files?'],
      ['apply', 'What does one method return for my arrays?'],
      ['completion', 'How does my shell complete commands, flags and names?'],
    ],
  },
]
