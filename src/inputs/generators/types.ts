import type {AttentionArray, AttentionSizes} from '../attention-input.js'

/** How large the generated input is, and from which seed. */
export interface GeneratorShape extends AttentionSizes {
  /** Non-negative safe integer. */
  seed: number
}

/** Queries `[B, H, L, D]`, keys `[B, H, S, D]` and values `[B, H, S, Dv]`. */
export interface GeneratedArrays {
  query: AttentionArray
  key: AttentionArray
  value: AttentionArray
}

/**
 * One synthetic input. Entries of q and k have mean 0 and variance 1 unless its description says
 * otherwise; how large they are in an experiment is the factor that the plan multiplies them by.
 */
export interface Generator {
  name: string
  title: string
  /** What it models and what it is for, in one line. */
  description: string
  /** Its fixed parameters, by name. */
  parameters: Readonly<Record<string, number>>
  /**
   * Whether the first tokens of a longer input equal a shorter one from the same seed (both lengths
   * growing together).
   */
  prefixStable: boolean
  generate(shape: GeneratorShape): GeneratedArrays
}
