/** What a check of an estimator is, and what comes of it. */
import type {Estimator} from '../attention/index.js'

/** Kinds of checks, in the order in which they run; `--only` takes them. */
export const CHECK_GROUPS = [
  'facts',
  'shapes',
  'laws',
  'numerics',
  'gradients',
  'options',
  'backends',
  'unbiasedness',
] as const
export type CheckGroup = (typeof CHECK_GROUPS)[number]

/** Processor time that each statistical check may take, in seconds, unless said otherwise. */
export const CHECK_SECONDS = 10

/**
 * How a check ended: `warning` for what is right and has a limit, `not applicable` for a declared fact that rules it out,
 * `not measurable` where float32 or the draws decide too little, `information` for a figure without a verdict.
 */
export const CHECK_STATUSES = [
  'passed',
  'failed',
  'warning',
  'not applicable',
  'not measurable',
  'information',
] as const
export type CheckStatus = (typeof CHECK_STATUSES)[number]

export interface Finding {
  status: CheckStatus
  /** Forms, shapes and options that were tried, the smallest first. */
  tried: readonly string[]
  /** The figure that came nearest to its bound. */
  measured?: number
  /** What it may be. */
  bound?: number
  /** For a failure or a warning, the smallest example; else why there is no verdict, or a note on it. */
  finding?: string
  /** Of a failure or a warning: where to look. */
  advice?: string
}

export interface Check {
  name: string
  group: CheckGroup
  run(subject: Subject): Finding | Promise<Finding>
}

/** The estimator that is checked, in the registry under its name. */
export interface Subject {
  method: string
  estimator: Estimator
  /** Seed of inputs, projections and noise. */
  seed: number
  /** Draws of each statistical comparison; `undefined`: the number that a verdict needs. */
  draws: number | undefined
  /** Processor time that each statistical check may take, where it says itself how many draws. */
  seconds: number
}

export interface CheckOutcome extends Finding {
  check: string
  group: CheckGroup
}

/** A fact that rules a check out. */
export function notApplicable(reason: string): Finding {
  return {status: 'not applicable', tried: [], finding: reason}
}
