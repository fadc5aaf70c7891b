import type {ApplyRequest} from '../../apply/record.js'
import {METHOD_NAMES, PRESET_NAMES, PROJECTION_NAMES} from '../../attention/names.js'
import {expected} from '../../errors.js'
import type {MethodSpec} from '../../experiments/axes.js'
import {methodLabel} from '../../experiments/labels.js'
import {ARRAY_EXTENSIONS, formatOf} from '../../inputs/files/formats.js'
import {assertTunedFor, type TunedFile, tunedSpecOf} from '../../tuned/index.js'
import {type FlagValues, fileList, oneNumber, oneText, toggle, ungrouped} from '../flags/kinds.js'
import {POSITIVE_INTEGER} from '../flags/ranges.js'
import {
  arrayFlags,
  causalFlags,
  computeFlags,
  layoutFlag,
  oneMethod,
  onePreset,
  oneProjection,
  optionFlag,
  orthSignFlag,
  parametersFlag,
  pluginFlag,
  scaleFlag,
} from '../flags/shared.js'
import {toInputSpec, toLayers} from './input-spec.js'
import {type EstimatorFacts, toMethodSpecs} from './method-specs.js'

export const applyFlags = {
  method: oneMethod(`the estimator: ${METHOD_NAMES.join(', ')}`, {char: 'm', required: true}),
  plugin: pluginFlag('--method takes their names'),
  input: fileList({
    char: 'i',
    required: true,
    description:
      '.npz or .safetensors file, several of them, .npy file of all three stacked, or three .npy files: query, key, value; a comma within a name takes a backslash before it',
  }),
  ...arrayFlags,
  layout: layoutFlag,
  output: oneText('where to write: .npz, .npy or .safetensors', {
    char: 'o',
    required: true,
    helpValue: 'FILE',
  }),
  force: toggle('replace an output that is there; never an input'),
  ...causalFlags,
  preset: onePreset(
    `released implementation to reproduce (default: exact): ${PRESET_NAMES.join(', ')}`,
  ),
  option: ungrouped(optionFlag, 'option of the estimator, e.g. tau=0.5; see rfa methods NAME'),
  'num-features': oneNumber(POSITIVE_INTEGER)('number of random vectors M (default: 256)'),
  projection: oneProjection(
    `random matrix (default: the method's own): ${PROJECTION_NAMES.join(', ')}`,
  ),
  'orth-sign': ungrouped(orthSignFlag),
  parameters: parametersFlag(
    'with their options, projection and M; of learned random vectors the first draw',
  ),
  scale: scaleFlag(),
  seed: ungrouped(computeFlags.seed),
  backend: ungrouped(computeFlags.backend),
  threads: ungrouped(computeFlags.threads, 'threads to compute with (default: one per processor)'),
}
/** What `rfa apply` was asked for; a missing value was not typed. */
export type ApplyFlags = FlagValues<typeof applyFlags>

/**
 * What to run on which arrays.
 *
 * @param estimators - the registry, for options and presets
 * @param tuned - learned parameters. Default: none
 * @throws {USAGE} for an output with an extension that names no format
 * @throws {BAD_OPTION} for learned parameters of another method, preset, options, projection or M
 * @throws {BAD_OPTION | UNKNOWN_NAME} for options or a preset that the method does not have
 */
export function toApplyRequest(
  flags: ApplyFlags,
  estimators: EstimatorFacts,
  tuned?: TunedFile,
): ApplyRequest {
  if (formatOf(flags.output) === undefined) {
    const endings = ARRAY_EXTENSIONS.join(', ')
    throw expected('USAGE', '--output', `a file ending in ${endings}`, flags.output)
  }
  const [spec, another] = toMethodSpecs(
    {methods: [flags.method], preset: flags.preset && [flags.preset], option: flags.option},
    [],
    estimators,
  )
  if (another) throw expected('BAD_OPTION', '--option', 'one value of each option', 'a list')
  return {
    ...(tuned ? tunedMethod(flags, spec!, tuned) : spec!),
    input: toInputSpec(flags),
    layers: toLayers(flags),
    output: flags.output,
    force: flags.force,
    causal: flags.causal ?? null,
    causalAlign: flags['causal-align'],
    numFeatures: flags['num-features'] ?? tuned?.numFeatures ?? 256,
    projection: flags.projection ?? tuned?.projection ?? null,
    orthSign: flags['orth-sign'] ?? 'haar',
    seed: flags.seed ?? 0,
    scale: flags.scale ?? null,
    backend: flags.backend ?? 'auto',
    threads: flags.threads,
  }
}

/** The method of a request as a file has it. @throws {BAD_OPTION} where it was asked for in another way */
function tunedMethod(flags: ApplyFlags, spec: MethodSpec, tuned: TunedFile): MethodSpec {
  const {path, method, preset, options, projection} = tuned
  assertTunedFor(tuned, {method: spec.method, numFeatures: flags['num-features']})
  const asked = flags.preset !== undefined || flags.option !== undefined
  const own: MethodSpec = {method, preset, options: {...options}}
  if (asked && methodLabel(own) !== methodLabel(spec)) {
    const remedy = 'leave `preset` and `option` out'
    const what = `parameters of ${methodLabel(spec)}`
    throw expected('BAD_OPTION', path, what, methodLabel(own), remedy)
  }
  if (flags.projection !== undefined && flags.projection !== projection) {
    const remedy = 'leave `projection` out'
    throw expected('BAD_OPTION', path, flags.projection, String(projection), remedy)
  }
  return {...own, tuned: tunedSpecOf(tuned)}
}
