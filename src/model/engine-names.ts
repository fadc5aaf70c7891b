/** What may run a model: this program where it can, this program, or Transformers in Python. */
export const ENGINES = ['auto', 'native', 'transformers'] as const
export type EngineChoice = (typeof ENGINES)[number]
