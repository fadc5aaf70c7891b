/**
 * The grids that run when flags leave something open: a standard one, and under `--quick` one of
 * seconds. Light on purpose: help texts quote them.
 */
import type {MethodName, ProjectionName} from '../../attention/names.js'

/** What every experiment varies. */
export interface Grid {
  methods: readonly MethodName[]
  projections: readonly ProjectionName[]
  numFeatures: readonly number[]
}

/** An error sweep also scales queries and keys, and repeats random draws. */
interface ErrorSweepGrid extends Grid {
  /** Factors on queries and keys. */
  scales: readonly number[]
  replicates: number
}

/** `--input` wins over these sizes; they matter only to `--generator`. */
export const GENERATOR_SHAPE = {batch: 1, heads: 4, headDim: 64, seqLen: 512}

/** The quick sweep keeps one method of each kind, the yardstick, and the exact form as a check. */
export const ERROR_SWEEP: Record<'standard' | 'quick', ErrorSweepGrid> = {
  standard: {
    methods: ['favor-pos', 'favor-hyp', 'favor-trig', 'favor-relu', 'rfa', 'elu', 'mean-value'],
    projections: ['iid', 'orth'],
    numFeatures: [64, 256, 1024],
    scales: [1],
    replicates: 10,
  },
  quick: {
    methods: ['favor-pos', 'favor-trig', 'rfa', 'elu', 'mean-value', 'softmax'],
    projections: ['iid', 'orth'],
    numFeatures: [64, 256],
    scales: [1],
    replicates: 3,
  },
}

/** A benchmark varies the length and says how long to measure. */
interface BenchGrid extends Grid {
  seqLens: readonly number[]
  batch: number
  heads: number
  headDim: number
  warmupRuns: number
  minRuns: number
  maxRuns: number
  /** Seconds. */
  minTime: number
}

/** The quick benchmark ends where the crossover of small shapes lies. */
export const BENCH: Record<'standard' | 'quick', BenchGrid> = {
  standard: {
    methods: ['favor-pos', 'favor-trig', 'rfa', 'elu'],
    projections: ['orth'],
    numFeatures: [256],
    seqLens: [256, 512, 1024, 2048, 4096],
    batch: 1,
    heads: 8,
    headDim: 64,
    warmupRuns: 2,
    minRuns: 10,
    maxRuns: 200,
    minTime: 1,
  },
  quick: {
    methods: ['favor-pos', 'elu'],
    projections: ['orth'],
    numFeatures: [64],
    seqLens: [128, 256, 512],
    batch: 1,
    heads: 2,
    headDim: 64,
    warmupRuns: 1,
    minRuns: 5,
    maxRuns: 50,
    minTime: 0.1,
  },
}

/** The exact forms that every benchmark is measured against. */
export const BASELINES: readonly MethodName[] = ['softmax', 'softmax-online']

/** A variance experiment needs no input: only pairs of vectors of these norms and angles. */
interface VarianceGrid extends Grid {
  headDims: readonly number[]
  /** Euclidean norms of both canonical vectors. */
  norms: readonly number[]
  anglesDeg: readonly number[]
  replicates: number
}

/** Norms stay below 2: from 1 on, at small angles, the tail of positive features leaves the closed form alone. */
export const VARIANCE: Record<'standard' | 'quick', VarianceGrid> = {
  standard: {
    methods: ['favor-pos', 'favor-hyp', 'favor-trig'],
    projections: ['iid', 'orth'],
    numFeatures: [64],
    headDims: [16, 64],
    norms: [0.5, 1, 1.5],
    anglesDeg: [0, 60, 120, 180],
    replicates: 2000,
  },
  quick: {
    methods: ['favor-pos', 'favor-trig'],
    projections: ['iid', 'orth'],
    numFeatures: [32],
    headDims: [16],
    norms: [0.5, 1],
    anglesDeg: [0, 90, 180],
    replicates: 800,
  },
}

/** Which of the two grids the flags ask for. */
export function gridOf<G>(grids: Record<'standard' | 'quick', G>, flags: {quick: boolean}): G {
  return flags.quick ? grids.quick : grids.standard
}

/** A default as help shows it: `(default: 64, 256; quick: 32)`. */
export function defaultHelp<G>(
  grids: Record<'standard' | 'quick', G>,
  read: (grid: G) => string | number | readonly (string | number)[],
): string {
  const [standard, quick] = [grids.standard, grids.quick].map(grid => listed(read(grid)))
  return standard === quick ? `(default: ${standard})` : `(default: ${standard}; quick: ${quick})`
}

function listed(value: string | number | readonly (string | number)[]): string {
  return Array.isArray(value) ? value.join(', ') : String(value)
}
