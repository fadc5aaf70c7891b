import type {OrthSign, PresetName} from '../../attention/names.js'
import {type ErrorSweepPlan, errorSweepPlan} from '../../experiments/error-sweep/schema.js'
import type {OptionAssignment} from '../flags.js'
import {ERROR_SWEEP, GENERATOR_SHAPE, gridOf} from './defaults.js'
import {type InputFlags, toInputSpec} from './input-spec.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'
import {checkedPlan, listOr, projectionsOr} from './values.js'

/** What `rfa error-sweep` was asked for; a missing value was not typed. */
export interface ErrorSweepFlags extends InputFlags {
  /** Take the grid of seconds where nothing was typed. */
  quick: boolean
  methods?: readonly string[] | undefined
  projections?: readonly string[] | undefined
  'orth-sign'?: OrthSign | undefined
  'num-features'?: readonly (readonly number[])[] | undefined
  preset?: readonly PresetName[] | undefined
  option?: readonly OptionAssignment[] | undefined
  /** Query lengths: lists of lists, as ranges are read one by one. */
  'seq-len'?: readonly (readonly number[])[] | undefined
  scales?: readonly (readonly number[])[] | undefined
  targets?: readonly ('raw' | 'matched')[] | undefined
  replicates?: number | undefined
  causal: boolean
  /** Also compare attention rows: needs the L x S matrix. */
  'row-metrics': boolean
  seed?: number | undefined
  backend?: string | undefined
}

/**
 * The plan of an error sweep: flags first, then the quick or the standard grid.
 *
 * @param estimators - the registry, for options and presets
 * @throws {USAGE | BAD_RANGE | BAD_OPTION | UNKNOWN_NAME} when the flags make no plan
 */
export function toErrorSweepPlan(
  flags: ErrorSweepFlags,
  estimators: EstimatorFacts,
): ErrorSweepPlan {
  const grid = gridOf(ERROR_SWEEP, flags)
  const input = toInputSpec(flags)
  return checkedPlan(errorSweepPlan, {
    experiment: 'error-sweep',
    input,
    methods: toMethodSpecs(flags, grid.methods, estimators),
    projections: projectionsOr(flags.projections, grid.projections),
    orth_sign: flags['orth-sign'] ?? 'haar',
    num_features: listOr(flags['num-features'], '--num-features', grid.numFeatures),
    seq_lens: seqLens(flags, input.kind),
    scales: listOr(flags.scales, '--scales', grid.scales),
    targets: [...new Set(flags.targets ?? (['raw', 'matched'] as const))],
    replicates: flags.replicates ?? grid.replicates,
    causal: flags.causal,
    row_metrics: flags['row-metrics'],
    seed: flags.seed ?? 0,
    backend: flags.backend ?? 'auto',
  })
}

/** A file has a length of its own; a generator needs one. */
function seqLens(flags: ErrorSweepFlags, kind: 'file' | 'generator'): number[] | null {
  const lengths = flags['seq-len']
  if (lengths === undefined && kind === 'file') return null
  return listOr(lengths, '--seq-len', [GENERATOR_SHAPE.seqLen])
}
