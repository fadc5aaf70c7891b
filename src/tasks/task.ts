/** Tasks that models are trained on: sequences of tokens, with what is to be predicted at some of their places. */

/** What examples are for: no two parts share a random number. */
export type TaskPart = 'train' | 'validation' | 'test'

/** A label where nothing is to be predicted. */
export const NO_LABEL = -1

/** Sequences with their labels. */
export interface Examples {
  count: number
  /** L */
  length: number
  /** `[count, L]`, row-major, each from 0 to V - 1. */
  tokens: Int32Array
  /** `[count, L]`: the token to be predicted at each place, from those up to it; {@link NO_LABEL}: none. */
  labels: Int32Array
}

/** Which examples: the same choice gives the same ones, in any order and in any process. */
interface ExampleChoice {
  part: TaskPart
  count: number
  /** Training run that they are for. */
  run: number
  /** Step of the run. Default 0. */
  step?: number
}

export interface Task {
  /** V, tokens that there are. */
  vocabulary: number
  /** L, tokens of a sequence. */
  length: number
  /**
   * Share of labels that a model gets right when it knows which tokens a sequence asks for, but not where; `null`: no such level is known.
   */
  plateau: number | null
  /** @returns at most as many examples as were asked for */
  examples(choice: ExampleChoice): Examples
}

/** Sequences without any label yet. */
export function unlabelled(count: number, length: number): Examples {
  const size = count * length
  return {count, length, tokens: new Int32Array(size), labels: new Int32Array(size).fill(NO_LABEL)}
}
