import type {ApplyRequest} from '../../apply/apply.js'
import type {OrthSign, PresetName, ProjectionName} from '../../attention/names.js'
import {expected} from '../../errors.js'
import {ARRAY_EXTENSIONS, formatOf} from '../../inputs/files/formats.js'
import type {OptionAssignment} from '../flags.js'
import {type InputFlags, toInputSpec} from './input-spec.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'

/** What `rfa apply` was asked for; a missing value was not typed. */
export interface ApplyFlags extends InputFlags {
  method: string
  output: string
  /** Replace an output that is there. */
  force: boolean
  preset?: string | undefined
  option?: readonly OptionAssignment[] | undefined
  causal: boolean
  'num-features'?: number | undefined
  /** Random matrix; the method's own when not given. */
  projection?: string | undefined
  /** Signs of orthogonal projections; `haar` when not given. */
  'orth-sign'?: OrthSign | undefined
  /** The logit scale beta; 1/sqrt(D) when not given. */
  scale?: number | undefined
  seed?: number | undefined
  backend?: string | undefined
  threads?: number | undefined
}

/**
 * What to run on which arrays.
 *
 * @param estimators - the registry, for options and presets
 * @throws {USAGE} for an output whose extension names no format
 * @throws {BAD_OPTION | UNKNOWN_NAME} for options or a preset that the method does not have
 */
export function toApplyRequest(flags: ApplyFlags, estimators: EstimatorFacts): ApplyRequest {
  if (formatOf(flags.output) === undefined) {
    const endings = ARRAY_EXTENSIONS.join(', ')
    throw expected('USAGE', '--output', `a file ending in ${endings}`, flags.output)
  }
  const [spec] = toMethodSpecs(
    {
      methods: [flags.method],
      preset: flags.preset === undefined ? undefined : [flags.preset as PresetName],
      option: flags.option,
    },
    [],
    estimators,
  )
  return {
    ...spec!,
    input: toInputSpec(flags),
    output: flags.output,
    force: flags.force,
    causal: flags.causal,
    numFeatures: flags['num-features'] ?? 256,
    projection: (flags.projection as ProjectionName | undefined) ?? null,
    orthSign: flags['orth-sign'] ?? 'haar',
    seed: flags.seed ?? 0,
    scale: flags.scale ?? null,
    backend: flags.backend ?? 'auto',
    threads: flags.threads,
  }
}
